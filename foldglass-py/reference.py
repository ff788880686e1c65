"""Writes the reference of the Python package as HTML, from its sources: `python reference.py FOLDER`.

Nothing is imported, so neither the package nor NumPy needs to be installed. A name is public if `__all__` of its module
lists it, or, in modules without `__all__`, if it does not begin with an underscore.
"""

import ast
import html
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).parent / "python" / "foldglass"
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="../style.css">
</head>
<body>
<nav aria-label="Modules"><a href="../index.html">Start</a> {modules}</nav>
<main>
"""


def parsed(name):
    path = SOURCE / f"{name}.py"
    return ast.parse((path if path.exists() else SOURCE / f"{name}.pyi").read_text(encoding="utf-8"))


def listed(module):
    """The names in `__all__`; None where there is none."""
    for node in module.body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
            return ast.literal_eval(node.value)
    return None


def definitions(module):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = {}
    for node in module.body:
        if isinstance(node, kinds):
            found.setdefault(node.name, []).append(node)
    return found


def public(name):
    """The definitions that a module makes public, in the order of `__all__` or of the source."""
    module = parsed(name)
    own, names, brought = definitions(module), listed(module), {}
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            brought.update({(alias.asname or alias.name): (node.module, alias.name) for alias in node.names})
    if names is None:
        names = [each for each in own if not each.startswith("_")]
    elif name == "__init__":
        # `enumerate` is public, and left out of `__all__` lest `import *` hides the built-in.
        names = sorted({*names, *(each for each in brought if not each.startswith("_"))}, key=str.lower)
    found = []
    for each in names:
        if each in own:
            found.append((each, own[each]))
        elif each in brought:
            source, original = brought[each]
            nodes = definitions(parsed(source)).get(original)
            if nodes:
                found.append((each, nodes))
    return ast.get_docstring(module) or "", found


def signature(name, node, method=False):
    arguments = node.args
    text = ast.unparse(arguments)
    if method and not any(getattr(d, "id", "") == "staticmethod" for d in node.decorator_list):
        text = re.sub(r"^(self|cls)(: \w+)?(, /)?(, )?", "", text)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{name}({text}){returns}"


def is_overload(node):
    return any(ast.unparse(each).endswith("overload") for each in node.decorator_list)


def inline(text):
    parts = re.split(r"(``[^`]+``|:\w+:`[^`]+`|`[^`]+`)", text)
    shown = []
    for part in parts:
        match = re.fullmatch(r"(?::\w+:)?`+~?([^`]+?)`+", part)
        shown.append(f"<code>{html.escape(match[1])}</code>" if match else html.escape(part))
    return "".join(shown)


def prose(text):
    """A docstring: paragraphs, lists with `-`, examples with `>>>`, and indented blocks."""
    out = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.splitlines()
        if not block.strip():
            continue
        if lines[0].lstrip().startswith(">>>") or all(line.startswith("    ") for line in lines):
            out.append(f"<pre><code>{html.escape(block)}</code></pre>")
        elif lines[0].startswith("- "):
            items = re.split(r"\n- ", block[2:])
            out.append("<ul>" + "".join(f"<li>{inline(item)}</li>" for item in items) + "</ul>")
        else:
            before, example, after = block.partition("\n>>>")
            out.append(f"<p>{inline(before)}</p>")
            if example:
                out.append(f"<pre><code>{html.escape('>>>' + after)}</code></pre>")
    return "\n".join(out)


def heading(level, identity, text, css=""):
    return f'<h{level} id="{html.escape(identity)}" class="signature{css}"><code>{html.escape(text)}</code></h{level}>'


def function(identity, name, nodes, level=2, css=""):
    shown = [node for node in nodes if is_overload(node)] or nodes[-1:]
    text = "\n".join(signature(name, node, method=bool(css)) for node in shown)
    doc = next((doc for doc in map(ast.get_docstring, reversed(nodes)) if doc), "")
    return [heading(level, identity, text, css), f'<div class="{css.strip()}">{prose(doc)}</div>']


def klass(name, node):
    methods = definitions(node)
    init = methods.get("__init__") or methods.get("__new__")
    decorated = any("dataclass" in ast.unparse(each) for each in node.decorator_list)
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
    fields = [each for each in fields if not each.target.id.startswith("_")]
    if init:
        text = signature(name, init[-1], method=True).split(" -> ")[0]
    elif decorated or any("NamedTuple" in ast.unparse(each) for each in node.bases):
        text = f"{name}({', '.join(each.target.id for each in fields)})"
    else:
        bases = ", ".join(ast.unparse(each) for each in node.bases)
        text = f"{name}({bases})" if bases else name
    out = [heading(2, name, f"class {text}"), prose(ast.get_docstring(node) or "")]
    if init and (doc := ast.get_docstring(init[-1])):
        out.append(prose(doc))
    body = {id(each): place for place, each in enumerate(node.body)}
    for each in fields:
        value = f" = {ast.unparse(each.value)}" if each.value else ""
        text = f"{each.target.id}: {ast.unparse(each.annotation)}{value}"
        out.append(heading(3, f"{name}.{each.target.id}", text, " member"))
        after = node.body[body[id(each)] + 1 :][:1]
        if after and isinstance(after[0], ast.Expr) and isinstance(getattr(after[0].value, "value", None), str):
            out.append(f'<div class="member">{prose(after[0].value.value)}</div>')
    for method, nodes in methods.items():
        if method.startswith("_") or isinstance(nodes[-1], ast.ClassDef):
            continue
        if any("property" in ast.unparse(each) for each in nodes[-1].decorator_list):
            kind = f": {ast.unparse(nodes[-1].returns)}" if nodes[-1].returns else ""
            out.append(heading(3, f"{name}.{method}", method + kind, " member"))
            out.append(f'<div class="member">{prose(ast.get_docstring(nodes[0]) or "")}</div>')
        else:
            out += function(f"{name}.{method}", method, nodes, 3, " member")
    return out


def written(folder):
    """Writes a page per module; the names of all pages."""
    others = sorted(path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("_"))
    files = {"__init__": "index.html", **{name: f"{name}.html" for name in others}}
    links = " ".join(
        f'<a href="{file}">{"foldglass" + ("" if name == "__init__" else "." + name)}</a>' for name, file in files.items()
    )
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        title = "foldglass" if name == "__init__" else f"foldglass.{name}"
        doc, found = public(name)
        out = [HEAD.format(title=title, modules=links), f"<h1>{title}</h1>", prose(doc)]
        out.append("<p>" + " · ".join(f'<a href="#{each}">{each}</a>' for each, _ in found) + "</p>")
        for each, nodes in found:
            out += klass(each, nodes[-1]) if isinstance(nodes[-1], ast.ClassDef) else function(each, each, nodes)
        out.append("</main>\n</body>\n</html>\n")
        (folder / file).write_text("\n".join(out), encoding="utf-8")
    return list(files.values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python reference.py FOLDER")
    print(*written(pathlib.Path(sys.argv[1])))
