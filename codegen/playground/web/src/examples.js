// The examples. A test checks that each of them generates code without diagnostics.

import tickets from "../../examples/tickets/tickets.yaml";
import shapes from "../../examples/unions/shapes.yaml";
import parcels from "../../examples/pagination/parcels.yaml";
import parcelOptions from "../../examples/pagination/codegen.toml";
import chat from "../../examples/streams/chat.yaml";
import photos from "../../examples/uploads/photos.yaml";
import recipe from "../../examples/json-schema/recipe.schema.json";
import oldOrders from "../../examples/drift/orders-1.yaml";
import newOrders from "../../examples/drift/orders-2.yaml";

/**
 * @typedef {{name: string, text: string}} NamedText
 * @typedef {{id: string, title: string, files: NamedText[], options?: string, old?: NamedText[]}} Example
 */

/** @type {Example[]} */
export const EXAMPLES = [
  { id: "tickets", title: "Tickets: a small service", files: [{ name: "tickets.yaml", text: tickets }] },
  { id: "unions", title: "Shapes: tagged and untagged unions", files: [{ name: "shapes.yaml", text: shapes }] },
  {
    id: "pagination",
    title: "Parcels: pagination",
    files: [{ name: "parcels.yaml", text: parcels }],
    options: parcelOptions,
  },
  { id: "streams", title: "Chat: server-sent events, JSON lines", files: [{ name: "chat.yaml", text: chat }] },
  { id: "uploads", title: "Photos: multipart, forms, downloads", files: [{ name: "photos.yaml", text: photos }] },
  {
    id: "json-schema",
    title: "Recipe: JSON Schema",
    // The build includes the file as text, but its type is that of the JSON.
    files: [{ name: "recipe.schema.json", text: /** @type {string} */ (/** @type {unknown} */ (recipe)) }],
  },
  {
    id: "drift",
    title: "Orders: two versions",
    files: [{ name: "orders-2.yaml", text: newOrders }],
    old: [{ name: "orders-1.yaml", text: oldOrders }],
  },
];
