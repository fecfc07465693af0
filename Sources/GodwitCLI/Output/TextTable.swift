/// Lines of cells as text: columns that are as wide as their widest cell, two spaces apart.
enum TextTable {
  /// - Parameter numbers: The columns whose cells end at the same place.
  static func text(_ lines: [[String]], numbers: Range<Int> = 0..<0) -> String {
    let widths = (lines.first ?? []).indices.map { column in lines.reduce(0) { max($0, $1[column].count) } }
    return lines.map { line in
      var text = ""
      for (column, cell) in line.enumerated() {
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        text += (numbers.contains(column) ? padding + cell : cell + padding) + "  "
      }
      while text.hasSuffix(" ") { text.removeLast() }
      return text + "\n"
    }.joined()
  }
}
