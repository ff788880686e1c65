// Says on a page that was opened as a file what it needs: browsers load neither modules nor workers from files.

if (location.protocol === "file:") {
  document.addEventListener("DOMContentLoaded", () => {
    const words = document.createElement("p");
    words.className = "gone";
    words.append("The explorer needs a web server, if only one on this machine: in the folder of this site run ", Object.assign(document.createElement("code"), { textContent: "python3 -m http.server" }), " and open the address that it prints. The other pages of this site open as files.");
    document.body.replaceChildren(words);
  });
}
