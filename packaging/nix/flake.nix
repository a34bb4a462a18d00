# Generated for version @version@ by `cargo xtask release-files`.
{
  description = "contract-codegen and exchange @version@";

  inputs.nixpkgs.url = "nixpkgs";

  outputs =
    { self, nixpkgs }:
    let
      version = "@version@";

      # The archives of the release. Binaries for Linux are static.
      archives = {
        contract-codegen = {
          aarch64-darwin = {
            url = "@url contract-codegen aarch64-apple-darwin@";
            sha256 = "@sha256 contract-codegen aarch64-apple-darwin@";
          };
          aarch64-linux = {
            url = "@url contract-codegen aarch64-unknown-linux-musl@";
            sha256 = "@sha256 contract-codegen aarch64-unknown-linux-musl@";
          };
          x86_64-darwin = {
            url = "@url contract-codegen x86_64-apple-darwin@";
            sha256 = "@sha256 contract-codegen x86_64-apple-darwin@";
          };
          x86_64-linux = {
            url = "@url contract-codegen x86_64-unknown-linux-musl@";
            sha256 = "@sha256 contract-codegen x86_64-unknown-linux-musl@";
          };
        };
        exchange = {
          aarch64-darwin = {
            url = "@url exchange aarch64-apple-darwin@";
            sha256 = "@sha256 exchange aarch64-apple-darwin@";
          };
          aarch64-linux = {
            url = "@url exchange aarch64-unknown-linux-musl@";
            sha256 = "@sha256 exchange aarch64-unknown-linux-musl@";
          };
          x86_64-darwin = {
            url = "@url exchange x86_64-apple-darwin@";
            sha256 = "@sha256 exchange x86_64-apple-darwin@";
          };
          x86_64-linux = {
            url = "@url exchange x86_64-unknown-linux-musl@";
            sha256 = "@sha256 exchange x86_64-unknown-linux-musl@";
          };
        };
      };

      package =
        system: name:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        pkgs.stdenvNoCC.mkDerivation {
          pname = name;
          inherit version;
          src = pkgs.fetchurl archives.${name}.${system};
          nativeBuildInputs = [ pkgs.installShellFiles ];
          dontConfigure = true;
          dontBuild = true;
          installPhase = ''
            runHook preInstall
            install -Dm755 ${name} -t "$out/bin"
            if [ -d completions ]; then installShellCompletion completions/*; fi
            if [ -d man ]; then installManPage man/*.1; fi
            runHook postInstall
          '';
          meta = {
            homepage = "@homepage@";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = name;
            platforms = builtins.attrNames archives.${name};
            sourceProvenance = [ pkgs.lib.sourceTypes.binaryNativeCode ];
          };
        };
    in
    {
      packages = nixpkgs.lib.genAttrs (builtins.attrNames archives.exchange) (
        system:
        let
          packages = builtins.mapAttrs (name: _: package system name) archives;
        in
        packages // { default = packages.contract-codegen; }
      );
    };
}
