// Files that the build includes as text.

declare module "*.yaml" {
  const text: string;
  export default text;
}

declare module "*.toml" {
  const text: string;
  export default text;
}
