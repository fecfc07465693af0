/// Parts of a text that is a path, by the rules of `NSString`. The file system is not asked.
extension Text {
  private static let slash = UInt8(ascii: "/")
  private static let period = UInt8(ascii: ".")

  /// Without slashes at the end; a path of slashes alone is one slash.
  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let last = bytes.lastIndex(where: { $0 != slash }) else { return bytes.prefix(1) }
    return bytes[...last]
  }

  /// The path without slashes at its end, and where its last component begins.
  private var split: (path: ArraySlice<UInt8>, component: Int) {
    let path = Self.trimmed(utf8[...])
    guard path.count > 1 else { return (path, 0) }
    return (path, path.lastIndex(of: Self.slash).map { $0 + 1 } ?? 0)
  }

  var lastPathComponent: Text {
    let (path, component) = split
    return Text(utf8: Array(path[component...]))
  }

  var deletingLastPathComponent: Text {
    let (path, component) = split
    if component == 0 { return Text(utf8: path.first == Self.slash ? [Self.slash] : []) }
    return Text(utf8: Array(Self.trimmed(path[..<component])))
  }

  /// The place of the period before the extension of the last component, which does not begin with it.
  private static func period(in path: ArraySlice<UInt8>, _ component: Int) -> Int? {
    guard let period = path.lastIndex(of: period), period > component,
      !path[component...].allSatisfy({ $0 == Self.period })
    else { return nil }
    return period
  }

  var pathExtension: Text {
    let (path, component) = split
    return Text(utf8: Self.period(in: path, component).map { Array(path[($0 + 1)...]) } ?? [])
  }

  var deletingPathExtension: Text {
    let (path, component) = split
    return Text(utf8: Array(Self.period(in: path, component).map { path[..<$0] } ?? path))
  }
}
