import GodwitModel

/// The lines of a text as the YAML parser counts them, without their ends.
///
/// Turns the parser's columns (Unicode scalars) into those of messages (UTF-8 bytes). Questions in
/// the order of the text are answered in linear time, however long a line is.
final class YAMLLines {
  let path: String
  private let lines: [ArraySlice<UInt8>]
  /// The last answer, from which the next one on the same line continues.
  private var last = (line: 0, column: 1, offset: 0)

  /// YAML 1.1 breaks lines at LF, CR, CRLF, NEL, LS and PS.
  init(of bytes: [UInt8], path: String) {
    self.path = path
    var lines: [ArraySlice<UInt8>] = []
    var start = 0
    var index = 0
    while index < bytes.count {
      let rest = bytes[index...].prefix(3)
      let width: Int
      switch bytes[index] {
      case 0x0A: width = 1
      case 0x0D: width = rest.starts(with: [0x0D, 0x0A]) ? 2 : 1
      case 0xC2: width = rest.starts(with: [0xC2, 0x85]) ? 2 : 0
      case 0xE2: width = rest.starts(with: [0xE2, 0x80]) && [0xA8, 0xA9].contains(rest.last ?? 0) ? 3 : 0
      default: width = 0
      }
      if width > 0 { lines.append(bytes[start..<index]) }
      index += max(width, 1)
      if width > 0 { start = index }
    }
    lines.append(bytes[start...])
    self.lines = lines
  }

  var count: Int { lines.count }

  /// The bytes of a line, counted from 1; none when there is no such line.
  subscript(number: Int) -> ArraySlice<UInt8> {
    number >= 1 && number <= lines.count ? lines[number - 1] : []
  }

  /// Whether the line has nothing but the end of the text.
  func isEnd(line number: Int) -> Bool { number >= lines.count && self[number].isEmpty }

  /// The place of the parser's line and column; the end of the text for a line after it.
  func location(line number: Int, column: Int) -> GodwitError.Location {
    let column = number > lines.count ? Int.max : column
    let number = min(max(number, 1), lines.count)
    let line = self[number]
    if last.line != number || last.column > column { last = (number, 1, 0) }
    while last.column < column, last.offset < line.count {
      last.offset += 1
      while last.offset < line.count, line[line.startIndex + last.offset] & 0xC0 == 0x80 { last.offset += 1 }
      last.column += 1
    }
    return .init(file: path, line: number, column: last.offset + 1)
  }
}
