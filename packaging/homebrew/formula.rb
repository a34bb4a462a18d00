# Generated for version @version@ by `cargo xtask release-files`.
class @class@ < Formula
  desc "@summary@"
  homepage "@homepage@"
  version "@version@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@url @command@ aarch64-apple-darwin@"
      sha256 "@sha256 @command@ aarch64-apple-darwin@"
    end
    on_intel do
      url "@url @command@ x86_64-apple-darwin@"
      sha256 "@sha256 @command@ x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@url @command@ aarch64-unknown-linux-musl@"
      sha256 "@sha256 @command@ aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@url @command@ x86_64-unknown-linux-musl@"
      sha256 "@sha256 @command@ x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "@command@"
    if Dir.exist?("completions")
      bash_completion.install "completions/@command@.bash" => "@command@"
      fish_completion.install "completions/@command@.fish"
      zsh_completion.install "completions/_@command@"
    end
    man1.install Dir["man/*.1"] if Dir.exist?("man")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/@command@ --version")
  end
end
