// Chapters come before the reference, and the reference before the pages about the project.
const Scorer = {
  score: ([docname, title, anchor, description, score]) => {
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
