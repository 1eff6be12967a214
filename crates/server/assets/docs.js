/* Draws the OpenAPI document for reading: every endpoint by family, then the shapes they speak of. */

const METHODS = ["get", "post", "put", "patch", "delete"];

/** An element with `attributes` and `children`; texts become text, never markup. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** A text in which `words` between backticks are code. */
function prose(text) {
  const parts = (text ?? "").split("`").map((part, index) => (index % 2 === 1 ? element("code", {}, part) : part));
  return element("p", {}, ...parts);
}

/** The name of a shape that is kept elsewhere in the document. */
function nameOf(reference) {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

/** A schema in a line, with links to the shapes that it names. */
function inLine(schema) {
  if (schema === undefined || schema === true) return [element("em", {}, "anything")];
  if (schema.$ref) return [element("a", { href: `#shape-${nameOf(schema.$ref)}` }, nameOf(schema.$ref))];
  for (const kind of ["oneOf", "anyOf", "allOf"]) {
    if (schema[kind]) return joined(schema[kind].map(inLine), kind === "allOf" ? " and " : " or ");
  }
  if (schema.enum) return [schema.enum.map((value) => JSON.stringify(value)).join(" | ")];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  const types = [schema.type ?? "anything"].flat();
  if (types.includes("array")) return ["[", ...inLine(schema.items), "]"];
  if (types.includes("object") && schema.properties) {
    const fields = Object.entries(schema.properties).map(([name, value]) => [`${name}: `, ...inLine(value)]);
    return ["{ ", ...joined(fields, ", "), " }"];
  }
  return [types.join(" or ") + limits(schema)];
}

function joined(lists, separator) {
  return lists.flatMap((list, index) => (index === 0 ? list : [separator, ...list]));
}

function limits(schema) {
  const said = [];
  if (schema.format) said.push(schema.format);
  if (schema.pattern) said.push(schema.pattern);
  if (schema.minimum !== undefined) said.push(`at least ${schema.minimum}`);
  if (schema.maximum !== undefined) said.push(`at most ${schema.maximum}`);
  return said.length > 0 ? ` (${said.join(", ")})` : "";
}

function table(heads, rows) {
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, ...[cell].flat()))));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

function bodyOf(content) {
  const [type, media] = Object.entries(content ?? {})[0] ?? [];
  if (type === undefined) return ["nothing"];
  return type === "application/json" ? inLine(media.schema) : [type];
}

function drawOperation(path, method, operation) {
  const parts = [
    element("h3", {}, element("span", { class: `method ${method}` }, method.toUpperCase()), " ", element("code", {}, path)),
    prose(operation.summary),
  ];
  if (operation.description) parts.push(prose(operation.description));
  if (operation.parameters?.length > 0) {
    const rows = operation.parameters.map((one) => [
      element("code", {}, one.name),
      one.in + (one.required ? ", needed" : ""),
      inLine(one.schema),
      one.description ?? "",
    ]);
    parts.push(table(["Parameter", "Where", "What", ""], rows));
  }
  if (operation.requestBody) parts.push(element("p", {}, "Body: ", ...bodyOf(operation.requestBody.content)));
  const rows = Object.entries(operation.responses ?? {}).map(([status, response]) => [
    element("code", {}, status),
    bodyOf(response.content),
    response.description ?? "",
  ]);
  parts.push(table(["Status", "Body", ""], rows));
  return element("article", { id: operation.operationId }, ...parts);
}

function drawShape(name, schema) {
  const parts = [element("h3", {}, name)];
  if (schema.description) parts.push(prose(schema.description));
  if (schema.properties) {
    const rows = Object.entries(schema.properties).map(([field, value]) => [
      element("code", {}, field),
      schema.required?.includes(field) ? "always" : "perhaps",
      inLine(value),
      value.description ?? "",
    ]);
    parts.push(table(["Field", "There", "What", ""], rows));
  } else {
    parts.push(element("p", {}, ...inLine(schema)));
  }
  return element("article", { id: `shape-${name}` }, ...parts);
}

function draw(api) {
  const families = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((known) => item[known])) {
      const family = item[method].tags?.[0] ?? "other";
      families.set(family, [...(families.get(family) ?? []), drawOperation(path, method, item[method])]);
    }
  }
  const links = [...families.keys(), "shapes"].map((name) => element("a", { href: `#family-${name}` }, name));
  const sections = [...families].map(([name, drawn]) =>
    element("section", { id: `family-${name}` }, element("h2", {}, name), ...drawn),
  );
  const shapes = Object.entries(api.components?.schemas ?? {}).map(([name, schema]) => drawShape(name, schema));
  return [
    element("h1", {}, `${api.info.title} ${api.info.version}: the API`),
    prose(api.info.description),
    element("p", {}, "For programs: ", element("a", { href: "openapi.json" }, "the OpenAPI document"), "."),
    element("nav", { "aria-label": "Families" }, ...links),
    ...sections,
    element("section", { id: "family-shapes" }, element("h2", {}, "shapes"), ...shapes),
  ];
}

const place = document.getElementById("document");
try {
  const response = await fetch("openapi.json");
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  place.replaceChildren(...draw(await response.json()));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
} catch (error) {
  place.replaceChildren(element("p", {}, `The document cannot be read: ${error.message}.`));
}
