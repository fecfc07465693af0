/// The small text that Git keeps in place of a large file until `git lfs pull` fetches it.
package enum GitLFSPointer {
  private static let head = Array("version https://git-lfs.github.com/spec/".utf8)

  package static func matches(_ bytes: some Sequence<UInt8>) -> Bool { bytes.starts(with: head) }

  package static func problem(_ path: String, what: String, _ code: GodwitError.Code) -> GodwitError {
    GodwitError(
      code, "cannot read \(what) '\(path)': it is a Git LFS pointer, not the file itself",
      remedy: "fetch the file with `git lfs pull`")
  }
}
