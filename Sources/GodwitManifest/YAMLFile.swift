import Foundation
import GodwitModel
import Yams

/// A YAML file with what is needed to point at any part of it.
///
/// One document, at most 16 MiB of UTF-8. Errors of the text itself are 78 and name line and column.
struct YAMLFile {
  static let bytesMax = 16 << 20

  let path: String
  let root: Node
  /// The text's lines as the parser counts them, without their ends.
  private let lines: [ArraySlice<UInt8>]

  /// Line and column from 1, the column in Unicode scalars, as the parser counts.
  private typealias Place = (line: Int, column: Int)

  init(contentsOf path: String, what: String) throws {
    try self.init(bytes: Self.read(path, what: what), path: path, what: what)
  }

  init(bytes: [UInt8], path: String, what: String) throws {
    self.path = path
    var bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    guard bytes.count <= Self.bytesMax else {
      throw GodwitError(
        .configuration, "cannot read \(what) '\(path)': expected at most 16 MiB, found \(bytes.count) bytes",
        location: .init(file: path, line: 1, column: 1), remedy: "check that this is the file you mean")
    }
    lines = Self.lines(of: bytes)
    func position(ofByte offset: Int) -> GodwitError.Location {
      let before = bytes[..<min(offset, bytes.count)]
      let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
      return .init(file: path, line: before.count { $0 == 0x0A } + 1, column: before.count - start + 1)
    }
    let isControl = { (byte: UInt8) in byte < 0x20 && ![0x09, 0x0A, 0x0D].contains(byte) || byte == 0x7F }
    if let bad = bytes.firstIndex(where: isControl) {
      throw GodwitError(
        .configuration, "cannot read \(what): expected text, found a control character",
        location: position(ofByte: bad), remedy: "write the file as YAML in UTF-8")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      let valid = Array(String(decoding: bytes, as: UTF8.self).utf8)
      let bad = zip(bytes, valid).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? 0
      throw GodwitError(
        .configuration, "cannot read \(what): expected UTF-8, found other bytes",
        location: position(ofByte: bad), remedy: "write the file as YAML in UTF-8")
    }
    let composed: Node?
    do {
      composed = try Parser(yaml: text, encoding: .utf8).singleRoot()
    } catch let error as YamlError {
      throw Self.complaint(error, path: path, what: what, lines: lines)
    }
    guard let composed else {
      throw GodwitError(
        .configuration, "cannot read \(what): expected keys and values, found an empty file",
        location: .init(file: path, line: 1, column: 1), remedy: "write the file as docs and schema describe")
    }
    root = composed
  }

  /// Where the node's text begins: after the quote of a quoted scalar, at the first line of a block scalar.
  func textLocation(of node: Node) -> GodwitError.Location {
    guard case .scalar(let scalar) = node, let mark = scalar.mark else { return location(of: node) }
    switch scalar.style {
    case .singleQuoted, .doubleQuoted:
      return location((mark.line, mark.column + 1))
    case .literal, .folded:
      var index = mark.line
      while index < lines.count, lines[index].allSatisfy({ $0 == 0x20 }) { index += 1 }
      guard index < lines.count else { return location((mark.line, mark.column)) }
      let indent = lines[index].prefix { $0 == 0x20 }.count
      return .init(file: path, line: index + 1, column: indent + 1)
    default:
      return location((mark.line, mark.column))
    }
  }

  func location(of node: Node) -> GodwitError.Location {
    location(node.mark.map { ($0.line, $0.column) } ?? (1, 1))
  }

  private func location(_ mark: Place) -> GodwitError.Location {
    Self.location(mark, path: path, lines: lines)
  }

  private static func location(_ mark: Place, path: String, lines: [ArraySlice<UInt8>]) -> GodwitError.Location {
    let line = max(mark.line, 1)
    var column = 1
    if line <= lines.count {
      var scalars = 0
      for byte in lines[line - 1] {
        if byte & 0xC0 != 0x80 {
          scalars += 1
          if scalars >= mark.column { break }
        }
        column += 1
      }
    }
    return .init(file: path, line: line, column: column)
  }

  /// YAML 1.1 breaks lines at LF, CR, CRLF, NEL, LS and PS.
  private static func lines(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    var lines: [ArraySlice<UInt8>] = []
    var start = 0
    var index = 0
    while index < bytes.count {
      let rest = bytes[index...].prefix(3)
      let width: Int
      switch rest.first {
      case 0x0A: width = 1
      case 0x0D: width = rest.starts(with: [0x0D, 0x0A]) ? 2 : 1
      case 0xC2: width = rest.starts(with: [0xC2, 0x85]) ? 2 : 0
      case 0xE2: width = rest.starts(with: [0xE2, 0x80]) && [0xA8, 0xA9].contains(rest.last ?? 0) ? 3 : 0
      default: width = 0
      }
      if width > 0 {
        lines.append(bytes[start..<index])
        index += width
        start = index
      } else {
        index += 1
      }
    }
    lines.append(bytes[start...])
    return lines
  }

  private static func complaint(
    _ error: YamlError, path: String, what: String, lines: [ArraySlice<UInt8>]
  ) -> GodwitError {
    var mark: Place = (1, 1)
    var text: String
    var remedy = "correct the YAML there"
    switch error {
    case .scanner(let context, let problem, let at, _), .parser(let context, let problem, let at, _),
      .composer(let context, let problem, let at, _):
      mark = (at.line, at.column)
      text = [context?.text, problem].compactMap(\.self).joined(separator: ", ")
      if problem.contains("another document") {
        text = "expected one document, found another"
        remedy = "write one file for each document"
      }
    case .reader(let problem, _, _, _):
      text = problem
    case .duplicatedKeysInMapping(let duplicates, let context):
      mark = (context.mark.line, context.mark.column)
      text = "the key '\(duplicates.first ?? "")' stands there twice"
      remedy = "remove one of the two"
    default:
      text = "the text is not well-formed"
    }
    if mark.line >= 1, mark.line <= lines.count {
      let line = lines[mark.line - 1]
      let lead = line.prefix { (byte: UInt8) in [0x20, 0x09, 0x2D].contains(byte) }
      if lead.contains(0x09) {
        text = "expected spaces, found a tab"
        remedy = "indent with spaces"
        let tab = (lead.firstIndex(of: 0x09) ?? line.startIndex) - line.startIndex
        mark = (mark.line, tab + 1)
      }
    }
    return GodwitError(
      .configuration, "cannot read \(what): \(text)", location: location(mark, path: path, lines: lines),
      remedy: remedy)
  }

  /// The file's bytes, at most one more than the limit.
  private static func read(_ path: String, what: String) throws -> [UInt8] {
    var status = stat()
    guard stat(path, &status) == 0 else { throw complaint(errno, path: path, what: what) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      let found = status.st_mode & S_IFMT == S_IFDIR ? "a directory" : "another kind of file"
      throw GodwitError(
        .missingInput, "cannot read \(what) '\(path)': expected a file, found \(found)",
        remedy: "name the YAML file itself")
    }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw complaint(errno, path: path, what: what) }
    defer { close(descriptor) }
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
    case EIO:
      GodwitError(.inputOutput, "cannot read \(what) '\(path)': \(String(cString: strerror(number)))")
    default:
      GodwitError(.missingInput, "cannot read \(what) '\(path)': \(String(cString: strerror(number)))")
    }
  }
}
