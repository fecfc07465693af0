import GodwitModel

/// Archived expressions as mapping models hold them, with the text that a mapping file has for them.
struct ArchivedExpression: ArchiveReader {
  var archive: KeyedArchive
  var expressionCount = 0
  /// For messages: `xcmapping.xml`.
  let file: String
  var location: GodwitError.Location?

  /// Far more than an expression that someone typed has.
  static let valuesMaximum = 5_000

  func problem(_ text: String) -> GodwitError {
    GodwitError(
      .missingInput, "cannot read mapping model '\(file)': \(text)", location: location,
      remedy: "restore the file, or save it again with Xcode")
  }

  /// An error for valid content that a mapping file cannot express.
  func unsupported(_ text: String) -> GodwitError {
    GodwitError(
      .configuration, "cannot use mapping model '\(file)': \(text)", location: location,
      remedy: "write the mapping model as a .mapping.yaml file")
  }

  /// - Throws: code `.missingInput`.
  init(_ bytes: [UInt8], file: String, location: GodwitError.Location?, maximumValues: Int = valuesMaximum) throws {
    let list = try PropertyListFile.read(bytes, file: file, maximumValues: maximumValues)
    do {
      archive = try KeyedArchive(list)
    } catch {
      throw GodwitError(
        .missingInput, "cannot read mapping model '\(file)': \(error.problem)", location: location,
        remedy: "restore the file, or save it again with Xcode")
    }
    self.file = file
    self.location = location
  }

  // MARK: Expressions

  /// The expression at the root.
  mutating func rootExpression() throws -> ValueExpression {
    try reporting { reader in try reader.parsedExpression(try reader.archive.root()) }
  }

  mutating func parsedExpression(_ object: KeyedArchive.Object) throws -> ValueExpression {
    do {
      return try Self.parsed(Self.plain(try expression(object)), file: file, location: location)
    } catch let error as UnknownExpression { throw unsupported("\(error.text) in an expression") }
  }

  /// Runs a reading, with damage reported as an error of the file.
  mutating func reporting<Result>(_ body: (inout Self) throws -> Result) throws -> Result {
    do { return try body(&self) } catch let error as KeyedArchive.Malformed { throw problem(error.problem) }
  }

  /// The texts of a dictionary; numbers and truth values as text.
  mutating func userInfo(_ object: KeyedArchive.Object) throws -> [String: String] {
    var info: [String: String] = [:]
    for (key, value) in try archive.entries(of: object) {
      if let text = try archive.text(value) {
        info[key] = text
        continue
      }
      switch value {
      case .null: info[key] = ""
      case .plain(.boolean(let flag)): info[key] = flag ? "true" : "false"
      case .plain(.integer(let number)): info[key] = "\(number)"
      case .plain(.real(let number)): info[key] = "\(number)"
      default: throw unsupported("the value of '\(key)' in the user info is not text, a number or a truth value")
      }
    }
    return info
  }

  // MARK: Text

  /// The expression as its text reads, so that a mapping file of it is equal.
  static func parsed(
    _ expression: ValueExpression, file: String, location: GodwitError.Location? = nil
  ) throws -> ValueExpression {
    let text = expression.description
    do throws(ExpressionError) {
      return try ValueExpression(parsing: SourceText(text, location: nil))
    } catch {
      throw GodwitError(
        .configuration, "cannot use mapping model '\(file)': an expression cannot be written as text: \(error.message)",
        location: location, cause: String(text.prefix(200)),
        remedy: "write the mapping model as a .mapping.yaml file")
    }
  }

  static func parsed(predicate text: String, file: String, location: GodwitError.Location?) throws -> FilterPredicate {
    let source = SourceText(text, location: location)
    do throws(ExpressionError) {
      return try FilterPredicate(parsing: source)
    } catch { throw GodwitError(error, in: source, what: "filter predicate in mapping model '\(file)'") }
  }

  // MARK: Shapes

  /// `FUNCTION(x, "valueForKeyPath:", "a.b")` is `x.a.b`.
  static func plain(_ expression: ValueExpression) -> ValueExpression {
    guard case .call(let operand, let selector, let arguments) = expression.node else { return expression }
    let operands = [plain(operand)] + arguments.map(plain)
    if selector == "valueForKey:" || selector == "valueForKeyPath:", arguments.count == 1,
      case .constant(.string(let path)) = arguments[0].node
    {
      let segments = path.string.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      if segments.allSatisfy(isName) { return ValueExpression(.keyPath(base: operands[0], segments: segments)) }
    }
    return ValueExpression(.call(operand: operands[0], selector: selector, arguments: Array(operands.dropFirst())))
  }

  /// The lookup that an expression is, in the short form of mapping files where that says the same.
  static func relationshipValue(_ parsed: ValueExpression) -> RelationshipMapping.Value {
    guard case .call(let operand, let selector, let arguments) = parsed.node,
      operand.node == .variable("manager"), arguments.count == 2, case .constant(.string(let name)) = arguments[0].node
    else { return .expression(parsed) }
    let path: [String]
    switch arguments[1].node {
    case .variable("source"): path = []
    case .keyPath(let base?, let segments) where base.node == .variable("source") && segments.allSatisfy(isName):
      path = segments
    default: return .expression(parsed)
    }
    guard name.string.contains(where: { !$0.isWhitespace }) else { return .expression(parsed) }
    switch selector {
    case "destinationInstancesForEntityMappingNamed:sourceInstances:": return .mapping(name.string, keyPath: path)
    case "destinationInstancesForSourceRelationshipNamed:sourceInstances:" where path == [name.string]:
      return .sourceRelationship(name.string)
    default: return .expression(parsed)
    }
  }

  /// Whether a text can be a segment of a key path in a mapping file.
  static func isName(_ text: String) -> Bool {
    let name = text.hasPrefix("@") ? text.dropFirst() : text[...]
    guard let first = name.unicodeScalars.first else { return false }
    return (first == "_" || first.properties.isXIDStart)
      && name.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
  }
}
