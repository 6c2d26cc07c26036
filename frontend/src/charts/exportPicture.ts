/** A drawn SVG as a file of its own: the page's styles written into it, the whole scene in view. */

const PROPERTIES = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "paint-order",
  "display",
] as const;
const SCALE = 2;

/** `color(srgb 0.5 0.25 0)` as other programs read it: "rgb(128, 64, 0)". */
export function plainColour(value: string): string {
  const found = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)$/.exec(value);
  if (found === null) return value;
  const [red, green, blue] = found.slice(1, 4).map((part) => Math.round(Number(part) * 255));
  return found[4] === undefined
    ? `rgb(${red}, ${green}, ${blue})`
    : `rgba(${red}, ${green}, ${blue}, ${found[4]})`;
}

/**
 * The picture as SVG text, independent of the page.
 *
 * @param svg its first group is the scene, whose pan and zoom are left out
 * @param size in the scene's own units
 */
export function pictureText(
  svg: SVGSVGElement,
  size: { readonly width: number; readonly height: number },
): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [originals, copies] = [
    [svg, ...svg.querySelectorAll("*")],
    [copy, ...copy.querySelectorAll("*")],
  ];
  originals.forEach((original, i) => {
    const style = window.getComputedStyle(original);
    const target = copies[i];
    for (const property of PROPERTIES) {
      const value = style.getPropertyValue(property);
      if (value !== "") target?.setAttribute(property, plainColour(value));
    }
    for (const attribute of ["class", "tabindex", "style", "aria-hidden"]) target?.removeAttribute(attribute);
  });
  copy.querySelector("g")?.removeAttribute("transform");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  copy.setAttribute("width", String(size.width));
  copy.setAttribute("height", String(size.height));
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute(
    "fill",
    plainColour(window.getComputedStyle(document.documentElement).backgroundColor || "white"),
  );
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

export function saveFile(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The click has read the address by the next turn.
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}

/** The same picture as PNG, at twice its size. */
export async function picturePng(
  text: string,
  size: { readonly width: number; readonly height: number },
): Promise<Blob> {
  const image = new Image();
  // The pages' content security policy lets images come from data, not from blobs.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(size.width * SCALE);
  canvas.height = Math.ceil(size.height * SCALE);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) =>
        blob === null ? reject(new Error("the browser cannot write this picture as PNG")) : resolve(blob),
      "image/png",
    );
  });
}
