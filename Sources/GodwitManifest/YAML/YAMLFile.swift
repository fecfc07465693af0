import Foundation
package import GodwitModel
package import Yams

/// A YAML file with what is needed to point at any part of it.
///
/// One document, at most 2 MiB of UTF-8. Errors of the text itself are 78 and name line and column.
package struct YAMLFile {
  package static let bytesMax = 2 << 20

  /// The name of standard input in messages.
  package static let standardInput = "<stdin>"

  package let path: String
  /// `job manifest`, `mapping file` or the like, for messages.
  package let what: String
  package var root: Node
  /// The text's lines as the parser counts them, without their ends.
  private let lines: YAMLLines
  /// Options that have set values: the first line of each one's nodes, after the lines of the file, and its name.
  private var options: [(firstLine: Int, name: String)] = []
  private var endOfOptions: Int?

  package init(contentsOf path: String, what: String) throws {
    try self.init(bytes: Self.read(path, what: what), path: path, what: what)
  }

  /// Reads standard input.
  package init(what: String) throws {
    let bytes = try Self.read(descriptor: STDIN_FILENO, path: Self.standardInput, what: what)
    try self.init(bytes: bytes, path: Self.standardInput, what: what)
  }

  package init(bytes: [UInt8], path: String, what: String) throws {
    (self.path, self.what) = (path, what)
    try Self.refuseOtherKind(bytes, path: path, what: what)
    var bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    guard bytes.count <= Self.bytesMax else {
      throw GodwitError(
        .configuration, "cannot read \(what) '\(path)': expected at most 2 MiB, found \(bytes.count) bytes",
        location: .init(file: path, line: 1, column: 1), remedy: "check that this is the file you mean")
    }
    lines = YAMLLines(of: bytes, path: path)
    func position(ofByte offset: Int) -> GodwitError.Location {
      let before = bytes[..<min(offset, bytes.count)]
      let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
      return .init(file: path, line: before.count { $0 == 0x0A } + 1, column: before.count - start + 1)
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      let valid = Array(String(decoding: bytes, as: UTF8.self).utf8)
      let bad = zip(bytes, valid).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? 0
      throw GodwitError(
        .configuration, "cannot read \(what): expected UTF-8, found other bytes",
        location: position(ofByte: bad), remedy: "write the file as YAML in UTF-8")
    }
    var offset = 0
    for scalar in text.unicodeScalars {
      guard Self.isText(scalar) else {
        throw GodwitError(
          .configuration, "cannot read \(what): expected text, found a control character",
          location: position(ofByte: offset), remedy: "write the file as YAML in UTF-8")
      }
      offset += UTF8.width(scalar)
    }
    let composed: Node?
    do {
      let disarmed = YAMLLimits.disarmed(text)
      if let disarmed { _ = try Self.compose(disarmed, isMeasured: true, what: what, lines: lines) }
      composed = try Self.compose(text, isMeasured: disarmed == nil, what: what, lines: lines)
    } catch let error as YamlError {
      throw Self.complaint(error, what: what, lines: lines)
    }
    guard let composed else {
      throw GodwitError(
        .configuration,
        "cannot read \(what): expected keys and values, found "
          + (path == Self.standardInput ? "nothing on standard input" : "an empty file"),
        location: .init(file: path, line: 1, column: 1),
        remedy: path == Self.standardInput
          ? "if the command before the pipe failed, see its message; else pipe a manifest, or name its file"
          : Self.example(of: what)
      ).about(.emptyFile)
    }
    root = composed
  }

  /// Refuses a file whose first bytes are not YAML, and names its kind.
  private static func refuseOtherKind(_ bytes: [UInt8], path: String, what: String) throws {
    let kinds: [(head: String, name: String)] = [
      ("SQLite format 3\0", "a SQLite database"), ("<?xml", "an XML file"), ("bplist00", "a binary property list"),
    ]
    guard let kind = kinds.first(where: { bytes.starts(with: Array($0.head.utf8)) }) else { return }
    throw GodwitError(
      .configuration, "cannot read \(what): expected YAML, found \(kind.name)",
      location: .init(file: path, line: 1, column: 1), remedy: example(of: what))
  }

  /// The remedy for a file that cannot be read as what it should be: the shortest one that can.
  private static func example(of what: String) -> String {
    what == "job manifest"
      ? """
      give the path of a manifest, for example of a job.yaml with this content:
      godwit: 1
      source: App.sqlite
      destination: out/App.sqlite
      models: App.xcdatamodeld
      """ : "write the file as the page Manifest describes"
  }

  /// The characters that YAML 1.1 allows in a text.
  private static func isText(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A, 0x0D, 0x20...0x7E, 0x85, 0xA0...0xFEFE, 0xFF00...0xFFFD, 0x10000...: true
    default: false
    }
  }

  var lineCount: Int { lines.count }

  /// A line of the file, from 1.
  func line(_ number: Int) -> [UInt8] { Array(lines[number]) }

  /// Where the node's text begins: after the quote of a quoted scalar, at the first line of a block scalar
  /// (an empty first line is part of the text).
  package func textLocation(of node: Node) -> GodwitError.Location {
    if let option = option(of: node) { return option }
    guard case .scalar(let scalar) = node, scalar.mark != nil else { return location(of: node) }
    let start = pastProperties(location(of: node))
    switch scalar.style {
    case .singleQuoted, .doubleQuoted:
      return .init(file: path, line: start.line, column: start.column + 1)
    case .literal, .folded:
      var number = start.line + 1
      while number <= lines.count, lines[number].allSatisfy({ $0 == 0x20 }) { number += 1 }
      guard number <= lines.count else { return start }
      return .init(file: path, line: start.line + 1, column: lines[number].prefix { $0 == 0x20 }.count + 1)
    default:
      return start
    }
  }

  /// Where a complaint about a part of the node's text points in the file. `place` counts lines and
  /// columns in the text from its beginning: a block is indented, a folded text has other lines.
  package func location(_ place: GodwitError.Location, inTextOf node: Node) -> GodwitError.Location {
    let start = textLocation(of: node)
    guard start.line > 0 else { return start }
    var place = place
    if case .scalar(let scalar) = node, scalar.style == .literal, place.line > start.line {
      place.column += start.column - 1
    }
    return place.column <= lines[place.line].count + 1 ? place : start
  }

  /// The place after an anchor and a tag, which the parser counts as part of the scalar.
  private func pastProperties(_ place: GodwitError.Location) -> GodwitError.Location {
    let line = lines[place.line]
    var index = line.startIndex + place.column - 1
    while index < line.endIndex, line[index] == UInt8(ascii: "&") || line[index] == UInt8(ascii: "!") {
      let end = line[index...].firstIndex(of: 0x20) ?? line.endIndex
      index = line[end...].firstIndex { $0 != 0x20 } ?? line.endIndex
    }
    guard index < line.endIndex else { return place }
    return .init(file: path, line: place.line, column: index - line.startIndex + 1)
  }

  package func location(of node: Node) -> GodwitError.Location {
    if let option = option(of: node) { return option }
    return lines.location(line: node.mark?.line ?? 1, column: node.mark?.column ?? 1)
  }

  /// The option that has set a value, as the place of a message; nil for a value of the file.
  private func option(of node: Node) -> GodwitError.Location? {
    guard let line = node.mark?.line, line > lines.count else { return nil }
    return options.last { $0.firstLine <= line }.map { .init(file: $0.name, line: 0, column: 0) }
  }

  /// Gives the text of an option its lines, after all others.
  ///
  /// - Returns: The first of them.
  package mutating func addOption(_ name: String, text: String) -> Int {
    let line = (endOfOptions ?? lines.count) + 1
    options.append((line, name))
    endOfOptions = line + text.count(where: \.isNewline)
    return line
  }

  /// The tree of a text; nil when there is none. A measured one is refused when it is too deep or, with
  /// its aliases followed, too large.
  private static func compose(_ text: String, isMeasured: Bool, what: String, lines: YAMLLines) throws -> Node? {
    // Readers use no tags. The rules of the default resolver are regular expressions, which load ICU.
    let parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
    guard let root = try parser.singleRoot() else { return nil }
    guard isMeasured else { return root }
    var limits = YAMLLimits()
    let extent = withExtendedLifetime(parser) { limits.extent(of: root) }
    guard extent.depth > YAMLLimits.depthMax || extent.values > YAMLLimits.valuesMax else { return root }
    let found = extent.depth > YAMLLimits.depthMax ? "deeper nesting" : "more values"
    throw GodwitError(
      .configuration,
      "cannot read \(what): expected at most \(YAMLLimits.depthMax) levels and \(YAMLLimits.valuesMax) values, found \(found)",
      location: lines.location(line: 1, column: 1), remedy: "write fewer and shallower lists, maps and aliases")
  }

  private static func complaint(_ error: YamlError, what: String, lines: YAMLLines) -> GodwitError {
    var mark = (line: 1, column: 1)
    var text: String
    var remedy = "correct the YAML there"
    switch error {
    case .scanner(let context, let problem, let at, _), .parser(let context, let problem, let at, _),
      .composer(let context, let problem, let at, _):
      mark = (at.line, at.column)
      // The parser notices a missing end only at the end of the text. The opening is the place to look.
      if let context, lines.isEnd(line: at.line) || problem.contains("expected ':'") {
        mark = (context.mark.line, context.mark.column)
      }
      text = [context?.text, problem].compactMap(\.self).joined(separator: ", ")
      if problem.contains("another document") {
        text = "expected one document, found another"
        remedy = "write one file for each document"
      }
    case .reader(let problem, _, _, _):
      text = problem
    case .duplicatedKeysInMapping(let duplicates, let context):
      mark = (context.mark.line, context.mark.column)
      text = "the key '\(YAMLLimits.armed(duplicates.first ?? ""))' is listed twice"
      remedy = "remove one of the two"
    default:
      text = "the text is not well-formed"
    }
    let line = lines[mark.line]
    if let hint = plainHint(text, line, column: mark.column) { remedy = hint }
    let lead = line.prefix { (byte: UInt8) in [0x20, 0x09, 0x2D].contains(byte) }
    if let tab = lead.firstIndex(of: 0x09) {
      text = "expected spaces, found a tab"
      remedy = "indent with spaces"
      mark.column = tab - line.startIndex + 1
    }
    return GodwitError(
      .configuration, "cannot read \(what): \(text)", location: lines.location(line: mark.line, column: mark.column),
      remedy: remedy)
  }

  /// The file's bytes, at most one more than the limit.
  static func read(_ path: String, what: String) throws -> [UInt8] {
    guard let status = FileStatus(following: path) else { throw complaint(errno, path: path, what: what) }
    guard status.isFile else {
      let found = status.isFolder ? "a directory" : "another kind of file"
      throw GodwitError(
        .missingInput, "cannot read \(what) '\(path)': expected a file, found \(found)",
        remedy: found == "a directory" ? example(of: what) : "name the YAML file itself")
    }
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw complaint(errno, path: path, what: what) }
    defer { close(descriptor) }
    return try read(descriptor: descriptor, path: path, what: what)
  }

  private static func read(descriptor: Int32, path: String, what: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count <= bytesMax {
      let count = Foundation.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw complaint(errno, path: path, what: what) }
      if count == 0 { break }
      bytes += buffer.prefix(count)
    }
    return bytes
  }

  private static func complaint(_ number: Int32, path: String, what: String) -> GodwitError {
    switch number {
    case ENOENT, ENOTDIR:
      GodwitError(
        .missingInput, "cannot read \(what) '\(path)': expected a file, found none",
        remedy: "check the path and the working directory")
    case EACCES, EPERM:
      GodwitError(
        .permission, "cannot read \(what) '\(path)': permission denied",
        remedy: "grant read permission for the file and its folders")
    default:
      GodwitError(
        number == EIO ? .inputOutput : .missingInput,
        "cannot read \(what) '\(path)': \(String(cString: strerror(number)))")
    }
  }
}
