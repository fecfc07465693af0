/// The remedies for words that many try first: words of SQL, of Swift and of spreadsheets.
enum ExpressionHints {
  private static let blanks = "FUNCTION(CAST(\"NSCharacterSet\", \"Class\"), \"whitespaceAndNewlineCharacterSet\")"

  /// Groups of words in small letters, and the expression that does the same.
  private static let groups: [(words: String, way: String)] = [
    (
      "concat concatenate append join format stringwithformat sprintf printf stringbyappendingformat appending",
      "join:with:({a, b}, \"\")"
    ),
    ("if iif case when choose cond", "TERNARY(condition, a, b)"),
    ("ifnull isnull nvl nz default orelse", "coalesce:(a, b)"),
    (
      "trim ltrim rtrim strip trimming trimmingcharacters",
      "FUNCTION(a, \"stringByTrimmingCharactersInSet:\", \(blanks))"
    ),
    (
      "replace replacing substitute replacingoccurrences stringbyreplacing",
      "FUNCTION(a, \"stringByReplacingOccurrencesOfString:withString:\", \"x\", \"y\")"
    ),
    (
      "substr substring substringwithrange mid slice",
      "FUNCTION(FUNCTION(a, \"substringFromIndex:\", 2), \"substringToIndex:\", 3)"
    ),
    ("left prefix", "FUNCTION(a, \"substringToIndex:\", 3)"),
    ("right suffix dropfirst", "FUNCTION(a, \"substringFromIndex:\", 3)"),
    ("split components explode separated", "FUNCTION(a, \"componentsSeparatedByString:\", \",\")[0]"),
    ("startswith hasprefix", "a BEGINSWITH \"x\""),
    ("endswith hassuffix", "a ENDSWITH \"x\""),
    ("round rounded rint", "floor:(a + 0.5)"),
    ("ceil", "ceiling:(a)"),
    ("mod remainder", "modulus:by:(a, b)"),
    ("pow power", "a ** b"),
    ("avg mean", "average:(a)"),
    ("upper ucase toupper uppercased", "uppercase:(a)"),
    ("lower lcase tolower lowercased", "lowercase:(a)"),
    ("capitalize capitalized proper initcap", "titlecase:(a)"),
    ("len strlen size char_length charlength", "length:(a)"),
    ("int integer toint tointeger number tonumber float double nsnumber nsinteger", "CAST(a, \"NSNumber\")"),
    ("decimal todecimal nsdecimalnumber", "CAST(a, \"NSDecimalNumber\")"),
    ("string str tostring nsstring", "CAST(a, \"NSString\")"),
    ("bool boolean tobool", "a.boolValue"),
    ("date todate parsedate strptime datefromstring", "date:format:(a, \"iso8601\")"),
    ("text formatdate dateformat strftime stringfromdate", "text:format:(a, \"iso8601\")"),
    ("json tojson jsonencode", "encode:(\"name\", a)"),
    ("fromjson parsejson jsondecode json_extract", "decode:path:as:(a, \"name\", \"NSString\")"),
    ("newid uuidv4 guid newguid generateuuid", "newUUID()"),
    ("sysdate getdate current_timestamp today currentdate", "now()"),
    ("rand", "random()"),
  ]

  private static let ways = Dictionary(
    uniqueKeysWithValues: groups.flatMap { group in group.words.split(separator: " ").map { (String($0), group.way) } })

  /// The end of a message about a function that does not exist: the nearest one, or the expression that does the same.
  ///
  /// - Parameter known: The functions that exist.
  static func function(_ name: String, among known: [String]) -> String {
    let labels = name.lowercased().split(separator: ":").map(String.init)
    if labels.count == 1, let way = ways[labels[0]] { return ": write '\(way)'" }
    let sorted = labels.sorted()
    if labels.count > 1,
      let same = known.first(where: { $0.lowercased().split(separator: ":").map(String.init).sorted() == sorted })
    {
      return ": the arguments of '\(same)\(same.hasSuffix(":") ? "" : ":")' come in that order"
    }
    let near = Spelling.suggestion(for: name, among: known)
    guard near.isEmpty, let first = labels.first, let way = ways[first] else { return near }
    return ": write '\(way)'"
  }

  /// The expression for a selector that nothing answers; nil for an unknown word.
  static func way(of selector: String) -> String? {
    selector.lowercased().split(separator: ":").first.flatMap { ways[String($0)] }
  }

  private static let operators = [
    "EQUALS": "==", "EQ": "==", "NE": "!=", "NEQ": "!=", "GT": ">", "GE": ">=", "GTE": ">=", "LT": "<", "LE": "<=",
    "LTE": "<=", "STARTSWITH": "BEGINSWITH", "HASPREFIX": "BEGINSWITH", "HASSUFFIX": "ENDSWITH", "INCLUDES": "CONTAINS",
    "HAS": "CONTAINS", "REGEXP": "MATCHES", "REGEX": "MATCHES", "RLIKE": "MATCHES", "ILIKE": "LIKE[c]",
  ]

  /// The operator for a word that is none, in front of other words in capitals; nil for an unknown word.
  static func comparison(_ word: String, before next: [String]) -> String? {
    guard word == "IS" else { return operators[word] }
    let isNegated = next.first == "NOT"
    let isNil = ["NULL", "NIL"].contains(next.dropFirst(isNegated ? 1 : 0).first ?? "")
    return (isNegated ? "!=" : "==") + (isNil ? " nil" : "")
  }

  // MARK: Names without a variable

  /// The remedy for a word that stands where a value expression begins; nil for a name of a property.
  ///
  /// - Parameter variables: The variables that have a value there.
  static func variable(_ segments: [String], variables: [String]) -> String? {
    guard let first = segments.first else { return nil }
    if segments.count == 1, let function = ExpressionFunction.named(first), function.counts.contains(0) {
      return "'\(first)' is a function: write '\(function.name)()'"
    }
    guard let variable = variables.first(where: { $0.lowercased() == first.lowercased() }) else { return nil }
    let path = segments.joined(separator: ".")
    return "'\(path)' names no object: write '$\(([variable] + segments.dropFirst()).joined(separator: "."))'"
  }

  /// The end of a message about a word that may be meant as a text.
  ///
  /// - Parameter isWhole: Whether the word is the whole expression: then YAML takes the first pair of quotes away.
  static func text(_ word: String, isWhole: Bool) -> String {
    isWhole ? ", and a text needs its own quotes: '\"\(word)\"'" : ", and a text needs quotes: \"\(word)\""
  }

  /// An expression's description without each `#` after a full stop.
  fileprivate static func typed(_ description: String) -> String {
    var result = String.UnicodeScalarView()
    var (isQuoted, isEscaped) = (false, false)
    for scalar in description.unicodeScalars {
      if scalar == "#", !isQuoted, result.last == "." { continue }
      if scalar == "\"", !isEscaped { isQuoted.toggle() }
      isEscaped = scalar == "\\" && !isEscaped
      result.append(scalar)
    }
    return String(result)
  }

  // MARK: Classes

  /// The remedy for a class that no CAST makes.
  ///
  /// - Parameters:
  ///   - operand: The expression that is cast.
  ///   - type: The type of its value; nil for several values or an object.
  static func cast(to name: String, of operand: String, _ type: AttributeType?) -> String {
    let classes = CastType.names.dropLast().joined(separator: ", ") + " or " + (CastType.names.last ?? "")
    var members: [(words: [String], key: ValueKey, what: String)] = [
      (["bool", "boolean", "nsboolean"], .boolValue, "a Boolean"),
      (
        ["int", "integer", "nsinteger", "int16", "int32", "int64", "nsuinteger", "uint", "long"], .integerValue,
        "a whole number"
      ),
      (["double", "float", "cgfloat"], .doubleValue, "a Double"),
    ]
    members.removeAll { member in !member.words.contains(name.lowercased()) }
    guard let member = members.first, let type, member.key.result(on: type) != nil else {
      return "a CAST makes \(classes), and a policy the rest"
    }
    let way = TypeConversion.member(member.key.rawValue, of: operand)
    return "a CAST makes \(classes), and '\(way)' \(member.what)"
  }
}

extension ValueExpression {
  /// The expression as a writer types it: after a full stop no name needs its `#`.
  var typed: String { ExpressionHints.typed(description) }
}

extension FilterPredicate {
  /// The predicate as a writer types it: after a full stop no name needs its `#`.
  var typed: String { ExpressionHints.typed(description) }
}
