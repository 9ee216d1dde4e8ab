// A click on a picture shows it large, in the colors of the page; without this script, it opens the file.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a.picture");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const picture = link.firstElementChild;
  const { width, height } = picture.getBoundingClientRect();
  const large = document.createElement("dialog");
  large.className = "picture";
  large.style.setProperty("--ratio", width / height);
  large.append(picture.cloneNode(true));
  large.addEventListener("click", () => large.close());
  large.addEventListener("close", () => large.remove());
  document.body.append(large);
  large.showModal();
});
