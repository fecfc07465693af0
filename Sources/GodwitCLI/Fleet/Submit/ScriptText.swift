/// Values as the languages of scripts and manifests write them.
enum ScriptText {
  /// One word of a shell, whatever it contains.
  static func shell(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }

  /// A scalar of YAML in double quotes. JSON writes strings in the same way.
  static func yaml(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case _ where isControl(scalar) || scalar == "\u{FEFF}":
        let digits = String(scalar.value, radix: 16, uppercase: true)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// A value of a container's command or environment: Kubernetes replaces `$(NAME)`, and `$$` by `$`.
  static func kubernetes(_ text: String) -> String { yaml(text.replacing("$", with: "$$")) }

  /// A character that ends a line somewhere, or that a terminal obeys. All of them have four hex digits at most.
  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
