import Foundation

/// Whether a stream is coloured, and the colours.
///
/// Only a terminal is: not a file or a pipe, not a terminal that cannot (`TERM` is `dumb` or missing), and not for a user
/// who wants none (`NO_COLOR` is set and not empty, see no-color.org).
struct TerminalStyle: Sendable, Hashable {
  /// The role of a piece of text.
  enum Role: Sendable, Hashable {
    case plain, done, number, error, warning

    fileprivate var code: String {
      switch self {
      case .plain: ""
      case .done: "32"
      case .number: "1"
      case .error: "1;31"
      case .warning: "33"
      }
    }
  }

  /// A piece of text with its role.
  struct Span: Sendable, Hashable {
    let text: String
    var role = Role.plain
  }

  let isOn: Bool

  static let off = TerminalStyle(isOn: false)

  private init(isOn: Bool) { self.isOn = isOn }

  init(isTerminal: Bool, environment: [String: String] = ProcessInfo.processInfo.environment) {
    let terminal = environment["TERM"] ?? ""
    isOn = isTerminal && !terminal.isEmpty && terminal != "dumb" && (environment["NO_COLOR"] ?? "").isEmpty
  }

  /// The sequences around text of a role; nil where it is written as it is.
  func sequences(_ role: Role) -> (on: String, off: String)? {
    guard isOn, role != .plain else { return nil }
    return ("\u{1B}[\(role.code)m", "\u{1B}[0m")
  }
}

extension TerminalStyle {
  /// Text in colours, if they are on. Control characters in the text are made visible.
  func text(_ spans: [Span]) -> String {
    spans.map { span in
      let text = TextEscape.escaped(span.text)
      return sequences(span.role).map { $0.on + text + $0.off } ?? text
    }.joined()
  }
}

extension TextStream {
  /// Writes text in colours if the stream has them. Control characters in the text are made visible.
  func write(_ spans: [TerminalStyle.Span], style: TerminalStyle) { write(control: style.text(spans)) }
}
