// Chapters come before the reference, and the reference before the pages about the project; a page whose title has the
// words of the query before others. `var`, since the theme loads Sphinx's script, which has one, too.
var Scorer = {
  score: ([docname, title, anchor, description, score]) => {
    const query = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase();
    const stems = query.split(/\s+/).filter((word) => word.length > 2).map((word) => word.slice(0, 5));
    const page = title.split(" > ")[0].toLowerCase();
    score += stems.length ? (8 * stems.filter((stem) => page.includes(stem)).length) / stems.length : 0;
    if (/^generated\//.test(docname)) return score - 40;
    if (/^gallery\//.test(docname)) return score - 5;
    if (/^(api|_modules)\//.test(docname)) return score - 10;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
