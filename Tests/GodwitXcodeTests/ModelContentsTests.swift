import Foundation
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

/// Writes `contents` as the model `Test` and reads it.
private func read(_ contents: String) throws -> ManagedObjectModel {
  try read(bytes: Array(contents.utf8))
}

private func read(bytes: [UInt8]) throws -> ManagedObjectModel {
  let folder = try TemporaryFolder()
  let path = folder.file("Test.xcdatamodel")
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  try Data(bytes).write(to: URL(filePath: path + "/contents"))
  return try ManagedObjectModel(contentsOf: path)
}

private func model(_ body: String) -> String {
  """
  <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
  <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
  \(body)
  </model>
  """
}

private func entity(_ body: String) -> String { model("<entity name=\"A\">\n\(body)\n</entity>") }

private let full = model(
  """
  <!-- everything at once -->
  <entity name="Person" representedClassName="PersonMO" isAbstract="YES" elementID="Human" versionHashModifier="2" \
  syncable="YES" codeGenerationType="class">
    <attribute name="age" optional="YES" attributeType="Integer 16" minValueString="0" maxValueString="150.0" \
  defaultValueString="18" usesScalarValueType="YES"/>
    <attribute name="big" attributeType="Integer 64" defaultValueString="9223372036854775807"/>
    <attribute name="price" attributeType="Decimal" defaultValueString="12.50"/>
    <attribute name="ratio" attributeType="Double" defaultValueString="-1" maxValueString="0.5"/>
    <attribute name="name" attributeType="String" minValueString="1" maxValueString="40" \
  regularExpressionString="[A-Z].*" defaultValueString="a &lt;b&gt; &amp; &quot;c&quot;&#10;d" elementID="fullName"/>
    <attribute name="isMember" attributeType="Boolean" defaultValueString="YES"/>
    <attribute name="born" attributeType="Date" defaultDateTimeInterval="-86400" minDateTimeInterval="-1e9"/>
    <attribute name="photo" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES" \
  preserveAfterDeletion="YES"/>
    <attribute name="id" attributeType="UUID" defaultValueString="E621E1F8-C36C-495A-93FC-0C247A3E6E5F"/>
    <attribute name="site" attributeType="URI" defaultValueString="https://example.org/"/>
    <attribute name="color" optional="YES" attributeType="Transformable" valueTransformerName="" \
  customClassName="Color" allowsCloudEncryption="YES" spotlightIndexingEnabled="YES"/>
    <attribute name="home" optional="YES" attributeType="Composite" composite="Place"/>
    <attribute name="visit" attributeType="Composite" composite="Visit" elementID="stay"/>
    <attribute name="friendCount" attributeType="Integer 64" derived="YES" derivationExpression="friends.@count"/>
    <attribute name="shown" transient="YES"/>
    <relationship name="friends" optional="YES" toMany="YES" minCount="1" maxCount="9" ordered="YES" \
  deletionRule="Deny" destinationEntity="Person" inverseName="friends" inverseEntity="Person"/>
    <relationship name="boss" maxCount="1" deletionRule="No Action" destinationEntity="Child">
      <userInfo><entry key="k" value="v"/></userInfo>
    </relationship>
    <fetchedProperty name="peers" optional="YES">
      <fetchRequest name="fetchedPropertyFetchRequest" entity="Person" predicateString="age > 1"/>
    </fetchedProperty>
    <fetchIndex name="byAge">
      <fetchIndexElement property="age" type="Binary" order="descending"/>
      <fetchIndexElement expression="name" type="RTree" order="ascending"/>
    </fetchIndex>
    <uniquenessConstraints>
      <uniquenessConstraint><constraint value="id"/><constraint value="name"/></uniquenessConstraint>
    </uniquenessConstraints>
    <compoundIndexes><compoundIndex><index value="age"/><index value="name"/></compoundIndex></compoundIndexes>
    <userInfo><entry key="a" value="1"/><entry key="b" value="2"/></userInfo>
  </entity>
  <entity name="Child" parentEntity="Person"/>
  <fetchRequest name="All" entity="Person" predicateString="TRUEPREDICATE"/>
  <configuration name="Local"><memberEntity name="Child"/></configuration>
  <composite name="Visit"><attribute name="at" attributeType="Composite" composite="Place"/>\
  <attribute name="day" attributeType="Date" elementID="date"/></composite>
  <composite name="Place"><attribute name="city" optional="YES" attributeType="String"/></composite>
  <elements><element name="Person" positionX="0" positionY="0" width="1" height="1"/></elements>
  """)

@Test func `each type of an attribute has a row of its own in the table`() {
  #expect(Set(AttributeType.allCases.map(\.xcodeName)).count == AttributeType.allCases.count)
  for type in AttributeType.allCases {
    #expect(AttributeType(xcodeName: type.xcodeName) == type)
    #expect(type.isStored == ![.undefined, .objectID, .composite].contains(type))
    #expect(type.facts.xmlNames.isEmpty != type.isStored && (type.facts.literal == nil) != type.isStored)
  }
}

@Test func `every kind of property is read as the file says`() throws {
  let model = try read(full)
  #expect(model.name == "Test")
  #expect(model.versionIdentifiers == [""])
  let person = try #require(model.entity("Person"))
  #expect(person.isAbstract)
  #expect(person.managedObjectClassName == "PersonMO")
  #expect(person.renamingIdentifier == "Human")
  #expect(person.versionHashModifier == "2")
  #expect(person.userInfo == ["a": "1", "b": "2"])
  #expect(person.uniquenessConstraints == [["id", "name"]])
  #expect(person.compoundIndexes == [["age", "name"]])
  #expect(model.entity("Child")?.superentityName == "Person")

  let attributes = Dictionary(uniqueKeysWithValues: person.attributes.map { ($0.name, $0) })
  #expect(person.attributes.count == 15)
  #expect(attributes["age"]?.defaultValue == .integer(18))
  #expect(attributes["age"]?.minimumValue == .integer(0))
  #expect(attributes["age"]?.maximumValue == .integer(150))
  #expect(attributes["age"]?.isOptional == true)
  #expect(attributes["big"]?.defaultValue == .integer(.max))
  #expect(attributes["big"]?.isOptional == false)
  #expect(attributes["price"]?.defaultValue == .decimal(Decimal(25) / 2))
  #expect(attributes["ratio"]?.defaultValue == .double(-1))
  #expect(attributes["ratio"]?.maximumValue == .double(0.5))
  #expect(attributes["name"]?.defaultValue == AttributeValue("a <b> & \"c\"\nd"))
  #expect(attributes["name"]?.minimumLength == 1)
  #expect(attributes["name"]?.maximumLength == 40)
  #expect(attributes["name"]?.minimumValue == nil)
  #expect(attributes["name"]?.regularExpression == "[A-Z].*")
  #expect(attributes["name"]?.renamingIdentifier == "fullName")
  #expect(attributes["isMember"]?.defaultValue == .boolean(true))
  #expect(attributes["born"]?.defaultValue == .date(-86400))
  #expect(attributes["born"]?.minimumValue == .date(-1e9))
  #expect(attributes["photo"]?.allowsExternalBinaryDataStorage == true)
  #expect(attributes["photo"]?.preservesValueInHistoryOnDeletion == true)
  #expect(
    attributes["id"]?.defaultValue
      == .uuid(try #require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))))
  #expect(attributes["site"]?.defaultValue == .uri("https://example.org/"))
  #expect(attributes["color"]?.customClassName == "Color")
  #expect(attributes["color"]?.valueTransformerName == nil)
  #expect(attributes["home"]?.compositeName == "Place")
  #expect(attributes["home"]?.elements.map(\.name) == ["city"])
  #expect(attributes["visit"]?.leaves.map(\.name) == ["visit.at.city", "visit.day"])
  #expect(attributes["visit"]?.leaves.map(\.renamingIdentifier) == ["stay.at.city", "stay.date"])
  #expect(attributes["visit"]?.leaves.map(\.isOptional) == [true, false])
  #expect(attributes["friendCount"]?.derivationExpression == "friends.@count")
  #expect(attributes["shown"]?.type == .undefined)
  #expect(attributes["shown"]?.isTransient == true)

  let friends = try #require(person.relationships.first)
  #expect(friends.isToMany && friends.isOrdered && friends.isOptional)
  #expect((friends.minCount, friends.maxCount) == (1, 9))
  #expect(friends.deleteRule == .deny)
  #expect((friends.inverseName, friends.inverseEntityName) == ("friends", "Person"))
  let boss = try #require(person.relationships.last)
  #expect(!boss.isToMany && !boss.isOptional && boss.maxCount == 1)
  #expect(boss.deleteRule == .noAction)
  #expect(boss.inverseName == nil && boss.inverseEntityName == nil)
  #expect(boss.userInfo == ["k": "v"])

  #expect(person.fetchedProperties.first?.fetchRequest?.predicateText == "age > 1")
  #expect(
    person.fetchIndexes == [
      FetchIndexDescription(
        name: "byAge",
        elements: [
          .init(propertyName: "age", expressionText: nil, isRTree: false, isAscending: false),
          .init(propertyName: nil, expressionText: "name", isRTree: true, isAscending: true),
        ])
    ])
  #expect(model.configurations == ["Local": ["Child"]])
  #expect(model.fetchRequestTemplates.map(\.name) == ["All"])
}

@Test func `a written model contents file reads back the same`() throws {
  let model = try read(full)
  #expect(try read(model.xcodeContents) == model)
  #expect(try read(model.xcodeContents).entity("Person")?.attributes.map(\.compositeName).contains("Visit") == true)
}

@Test func `composite types without names get those of their attributes`() throws {
  let (one, two) = ([AttributeDescription.make("x")], [AttributeDescription.make("y", .date)])
  let entities = [
    EntityDescription(
      name: "A", attributes: [.composite("place", one), .composite("other", [.composite("place", two)])]),
    EntityDescription(name: "B", attributes: [.composite("place", one), .composite("place2", two)]),
  ]
  let model = try ManagedObjectModel(name: "Test", entities: entities, versionIdentifiers: [""])
  let text = model.xcodeContents
  #expect(try read(text) == model)
  let names = try read(text).entities.flatMap(\.attributes).flatMap { [$0] + $0.elements }.compactMap(\.compositeName)
  #expect(names == ["Place", "Other", "Place2", "Place", "Place2"])
}

@Test func `composite types that multiply are refused`() throws {
  let types = (0..<12).map { number in
    let inner = (0..<2).map { "<attribute name=\"a\($0)\" attributeType=\"Composite\" composite=\"T\(number + 1)\"/>" }
    return "<composite name=\"T\(number)\">\(inner.joined())</composite>"
  }
  let last = "<composite name=\"T12\"><attribute name=\"s\" attributeType=\"String\"/></composite>"
  let error = #expect(throws: GodwitError.self) { try read(model(types.joined() + last)) }
  #expect(error?.message.contains("expected at most 2000 elements of composite type 'T1', found more") == true)
}

private struct Broken: Sendable, CustomTestStringConvertible {
  var contents: String
  var message: String
  var line: Int
  var column: Int
  var testDescription: String { message }

  init(_ contents: String, _ message: String, _ line: Int, _ column: Int) {
    self.contents = contents
    self.message = message
    self.line = line
    self.column = column
  }
}

private let broken: [Broken] = [
  Broken("", "expected XML, found an empty file", 1, 1),
  Broken("hello", "expected an XML element, found other text", 1, 1),
  Broken("<model><entity></model>", "expected </entity>, found </model", 1, 16),
  Broken("<model>\n<entity name=\"A\">", "expected </entity>, found the end of the file", 2, 18),
  Broken("<model/>\n<model/>", "expected the end of the file after </model>", 2, 1),
  Broken("<model type='a' type='b'/>", "expected attribute 'type' once in <model>, found it twice", 1, 17),
  Broken("<model name=\"a&b\"/>", "expected '&amp;' for a lone '&'", 1, 15),
  Broken("<model name=\"&x;\"/>", "found the unknown reference '&x;'", 1, 14),
  Broken("<model name=\"&#0;\"/>", "found the unknown reference '&#0;'", 1, 14),
  Broken("<model name=a/>", "expected a quoted value of attribute 'name'", 1, 13),
  Broken("<model name=\"<\"/>", "expected no '<' inside an attribute value", 1, 14),
  Broken(
    "<!DOCTYPE model [<!ENTITY a \"aaaa\">]>\n<model/>", "expected no declarations in the document type, found some", 1,
    17
  ),
  Broken(
    "<?xml version=\"1.0\" encoding=\"UTF-16\"?><model/>", "expected the encoding UTF-8, found 'UTF-16'", 1, 1),
  Broken(
    String(repeating: "<a>", count: 100_000), "expected at most 100 nested elements, found more", 1, 301),
  Broken("<mapping/>", "expected the element <model>, found <mapping>", 1, 1),
  Broken("<model type=\"x\"/>", "expected a Core Data model, found the type 'x'", 1, 8),
  Broken("<model documentVersion=\"2.0\"/>", "expected document version 1.0, found '2.0'", 1, 8),
  Broken(
    entity("<attribute name=\"x\" attributeType=\"String\"><rule/></attribute>"),
    "unknown element 'rule' in <attribute>", 4, 44),
  Broken(model("text"), "expected no text inside <model>, found some", 2, 1),
  Broken(model("<entity/>"), "expected attribute 'name' in <entity>, found none", 3, 1),
  Broken(model("<entity name=\"\"/>"), "expected a value of 'name', found an empty one", 3, 9),
  Broken(model("<entity name=\"A\" isAbstract=\"true\"/>"), "expected YES or NO for 'isAbstract', found 'true'", 3, 18),
  Broken(model("<entity name=\"A\"/>\n<entity name=\"A\"/>"), "entity 'A' is defined twice", 4, 1),
  Broken(
    model("<entity name=\"Person\"/>\n<entity name=\"B\" parentEntity=\"Persn\"/>"),
    "unknown parent entity 'Persn' (did you mean 'Person'?)", 4, 18),
  Broken(model("<entity name=\"A\" parentEntity=\"A\"/>"), "entity 'A' inherits from itself", 2, 1),
  Broken(
    entity("<attribute name=\"x\" attributeType=\"Sting\"/>"),
    "unknown attribute type 'Sting' (did you mean 'String'?)", 4, 21),
  Broken(entity("<attribute name=\"x\"/>"), "attribute 'x' has no type, which only a transient one may lack", 4, 1),
  Broken(
    entity("<attribute name=\"x\" attributeType=\"Composite\" composite=\"P\"/>"), "unknown composite type 'P'", 4, 47),
  Broken(
    entity("<attribute name=\"x\" attributeType=\"String\"/>\n<attribute name=\"x\" attributeType=\"String\"/>"),
    "property 'A.x' is defined twice", 5, 1),
  Broken(
    entity("<relationship name=\"r\" maxCount=\"1\" destinationEntity=\"B\"/>"), "unknown entity 'B'", 4, 37),
  Broken(
    entity("<relationship name=\"r\" maxCount=\"many\" destinationEntity=\"A\"/>"),
    "expected a count for 'maxCount', found 'many'", 4, 24),
  Broken(
    entity("<relationship name=\"r\" maxCount=\"1\" destinationEntity=\"A\" inverseName=\"q\" inverseEntity=\"A\"/>"),
    "relationship 'r' names the inverse 'q', which 'A' lacks", 4, 59),
  Broken(
    model(
      "<composite name=\"P\"><attribute name=\"p\" attributeType=\"Composite\" composite=\"P\"/></composite>"),
    "composite type 'P' contains itself", 3, 1),
  Broken(
    model("<composite name=\"P\"/><composite name=\"P\"/>"), "composite type 'P' is defined twice", 3, 22),
  Broken(
    model(
      "<composite name=\"P\"><attribute name=\"p\" attributeType=\"String\"/>"
        + "<attribute name=\"p\" attributeType=\"Date\"/></composite>"),
    "property 'P.p' is defined twice", 3, 65),
]

@Test(arguments: broken)
private func `a broken contents file is refused with its place`(_ broken: Broken) throws {
  let error = #expect(throws: GodwitError.self) { try read(broken.contents) }
  #expect(error?.code == .missingInput)
  #expect(error?.message.contains(broken.message) == true, "\(error?.message ?? "-")")
  #expect(error?.location?.line == broken.line)
  #expect(error?.location?.column == broken.column)
  #expect(error?.location?.file.hasSuffix("Test.xcdatamodel/contents") == true)
}

@Test func `a damaged contents file is an error or a model, never a trap`() throws {
  let bytes = Array(full.utf8)
  let seed = momentSeed()
  var random = SeededGenerator(seed: seed)
  for round in 0..<300 {
    var damaged = bytes
    switch round % 3 {
    case 0: damaged.removeLast(random.below(bytes.count))
    case 1: for _ in 0...random.below(5) { damaged[random.below(bytes.count)] = UInt8(random.below(256)) }
    default: damaged = (0..<random.below(200)).map { _ in UInt8(random.below(256)) }
    }
    do {
      _ = try read(bytes: damaged)
    } catch let error as GodwitError {
      #expect(error.code == .missingInput && error.location != nil, "seed \(seed): \(error)")
    }
  }
}

@Test func `a contents file is read by the rules of XML`() throws {
  let text = """
    \u{FEFF}<?xml version='1.0'?>\r
    <!DOCTYPE model SYSTEM "file:///never/opened.dtd">\r
    <!-- <entity/> --><?note <entity?>
    <model userDefinedModelVersionIdentifier='a\tb\r\nc\nd&#10;&#x1F600;&apos;"'><![CDATA[
    ]]><entity name = "A"></entity >
    </model>
    <!-- end -->
    """
  let model = try read(text)
  #expect(model.versionIdentifiers == ["a b c d\n\u{1F600}'\""])
  #expect(model.entityNames == ["A"])
}

@Test func `a pipe in place of a contents file does not hang`() throws {
  let folder = try TemporaryFolder()
  let path = folder.file("Test.xcdatamodel")
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  try #require(mkfifo(path + "/contents", 0o600) == 0)
  let error = #expect(throws: GodwitError.self) { try ManagedObjectModel(contentsOf: path) }
  #expect(error?.message.hasSuffix("expected a file, found something else") == true)
}

/// A value that Xcode left behind, what it is read as, and the remark.
private struct Misfit: Sendable, CustomTestStringConvertible {
  var attribute: String
  var value: AttributeValue
  var remark: String?
  var testDescription: String { attribute }

  init(_ attribute: String, _ value: AttributeValue, _ remark: String?) {
    self.attribute = attribute
    self.value = value
    self.remark = remark
  }
}

private let misfits: [Misfit] = [
  .init(#"attributeType="Integer 32" defaultValueString="NO""#, .integer(0), "the default value 'NO' is read as 0"),
  .init(#"attributeType="Integer 64" defaultValueString="YES""#, .integer(0), "the default value 'YES' is read as 0"),
  .init(#"attributeType="Integer 64" defaultValueString="1.5""#, .integer(1), "the default value '1.5' is read as 1"),
  .init(#"attributeType="Integer 16" defaultValueString="40000""#, .null, "the default value '40000' is left out"),
  .init(#"attributeType="Double" defaultValueString="NO""#, .double(0), "the default value 'NO' is read as 0"),
  .init(#"attributeType="Decimal" defaultValueString="1x""#, .null, "the default value '1x' is left out"),
  .init(#"attributeType="Boolean" defaultValueString="0.0""#, .boolean(false), "the default value '0.0' is read as NO"),
  .init(#"attributeType="Boolean" defaultValueString="100""#, .boolean(true), "the default value '100' is read as YES"),
  .init(#"attributeType="Boolean" defaultValueString="maybe""#, .null, "the default value 'maybe' is left out"),
  .init(#"attributeType="UUID" defaultValueString="1""#, .null, "the default value '1' is left out"),
  .init(#"attributeType="Binary" defaultValueString="1""#, .null, "the default value '1' is left out"),
  .init(#"attributeType="Transformable" defaultValueString="a""#, .null, "the default value 'a' is left out"),
  .init(#"attributeType="Date" defaultValueString="today" defaultDateTimeInterval="60""#, .date(60), nil),
  .init(#"attributeType="Date" defaultValueString="today""#, .null, "the default value 'today' is left out"),
  .init(#"attributeType="Double" defaultDateTimeInterval="60""#, .null, "the default value '60' is left out"),
  .init(#"attributeType="String" minValueString="-1""#, .null, "the minimum '-1' is left out"),
  .init(#"attributeType="Boolean" maxValueString="1""#, .null, "the maximum '1' is left out"),
  .init(#"attributeType="String" minDateTimeInterval="1""#, .null, "the earliest date '1' is left out"),
  .init(#"attributeType="Integer 16" transient="YES" defaultValueString="NO""#, .integer(0), nil),
]

@Test(arguments: misfits)
private func `a default of the wrong kind is replaced or left out with a remark`(misfit: Misfit) throws {
  let model = try read(entity("<attribute name=\"x\" \(misfit.attribute)/>"))
  #expect(model.attribute("x", of: "A")?.defaultValue == misfit.value)
  let type = try #require(model.attribute("x", of: "A")?.type.xcodeName)
  #expect(model.remarks.map(\.text) == (misfit.remark.map { ["\($0): 'A.x' has the type \(type)"] } ?? []))
  #expect(model.remarks.allSatisfy { $0.location?.line == 4 })
}

/// Words that are not known and that no version hash has, each with its remark.
private let words: [(contents: String, remark: String)] = [
  (
    entity("<relationship name=\"r\" maxCount=\"1\" deletionRule=\"cascade\" destinationEntity=\"A\"/>"),
    "the unknown value 'cascade' of 'deletionRule' in <relationship> (did you mean 'Cascade'?) is read as Nullify"
  ),
  (
    entity(
      "<fetchIndex name=\"i\"><fetchIndexElement property=\"p\" type=\"Value\" order=\"ascending\"/></fetchIndex>"),
    "the unknown value 'Value' of 'type' in <fetchIndexElement> is read as Binary"
  ),
  (
    entity("<fetchIndex name=\"i\"><fetchIndexElement property=\"p\" order=\"asc\"/></fetchIndex>"),
    "the unknown value 'asc' of 'order' in <fetchIndexElement> is read as ascending"
  ),
  (
    entity("<fetchIndex name=\"i\"><fetchIndexElement order=\"ascending\"/></fetchIndex>"),
    "a <fetchIndexElement> with neither a property nor an expression is ignored"
  ),
  (
    entity("<attribute name=\"x\" attributeType=\"String\" indexed=\"true\"/>"),
    "the unknown value 'true' of 'indexed' in <attribute> is read as NO"
  ),
  (
    entity("<attribute name=\"x\" attributeType=\"Sting\" transient=\"YES\"/>"),
    "the unknown value 'Sting' of 'attributeType' in <attribute> (did you mean 'String'?) is read as no type"
  ),
  (
    entity("<fetchedProperty name=\"f\" optional=\"yes\"/>"),
    "the unknown value 'yes' of 'optional' in <fetchedProperty> (did you mean 'YES'?) is read as NO"
  ),
  (entity("<userInfo><entry value=\"v\"/></userInfo>"), "an <entry> without a key is ignored"),
  (
    model("<entity name=\"A\"/><configuration name=\"C\"><memberEntity name=\"Z\"/></configuration>"),
    "the unknown entity 'Z' in the configuration 'C' is ignored"
  ),
  (
    model(
      "<entity name=\"A\"><relationship name=\"b\" maxCount=\"1\" destinationEntity=\"B\" inverseName=\"a\" inverseEntity=\"B\"/></entity><entity name=\"B\"><relationship name=\"a\" maxCount=\"1\" destinationEntity=\"A\"/></entity>"
    ), "the inverse 'a' of 'A.b' is ignored: 'B.a' does not name 'b' as its inverse"
  ),
]

@Test(arguments: words.indices)
private func `an unknown word that no hash has is read as the default with a remark`(index: Int) throws {
  let model = try read(words[index].contents)
  #expect(model.remarks.map(\.text) == [words[index].remark])
  // `lint` reports what has a word, with its place.
  #expect(model.remarks.allSatisfy { $0.ignoredWord != nil && $0.location != nil })
}

@Test(arguments: [
  "<model type=\"com.apple.IDECoreDataModeler.DataModel\" documentVersion=\"1.0\" usedWithCloudKit=\"YES\"><entity name=\"A\"/><entity name=\"B\"/></model>",
  "<model type=\"com.apple.IDECoreDataModeler.DataModel\" documentVersion=\"1.0\"><entity name=\"A\"/><entity name=\"B\"/><configuration name=\"C\" usedWithCloudKit=\"YES\"><memberEntity name=\"B\"/></configuration></model>",
])
private func `a written model says what CloudKit mirrors`(contents: String) throws {
  let model = try read(contents)
  #expect(!model.cloudKitEntities.isEmpty)
  #expect(try read(model.xcodeContents).cloudKitEntities == model.cloudKitEntities)
}

@Test func `words that no hash has leave the hashes as they are`() throws {
  func hashes(_ rule: String, _ type: String, _ indexed: String) throws -> [String: VersionHash] {
    try read(
      entity(
        "<attribute name=\"x\" attributeType=\"String\" indexed=\"\(indexed)\"/>"
          + "<relationship name=\"r\" maxCount=\"1\" deletionRule=\"\(rule)\" destinationEntity=\"A\"/>"
          + "<fetchIndex name=\"i\"><fetchIndexElement property=\"x\" type=\"\(type)\"/></fetchIndex>")
    ).versionHashes
  }
  #expect(try hashes("cascade", "Value", "true") == hashes("Cascade", "RTree", "NO"))
  // An empty parent is none.
  #expect(
    try read(model("<entity name=\"A\" parentEntity=\"\"/>")).versionHashes
      == read(model("<entity name=\"A\"/>")).versionHashes)
}

@Test func `date limits may repeat the date as text`() throws {
  let limits =
    #"minDateTimeInterval="10" minValueString="2001-01-01 00:00:10 +0000" "#
    + #"maxDateTimeInterval="20" maxValueString="2001-01-01 00:00:20 +0000""#
  let model = try read(entity("<attribute name=\"x\" attributeType=\"Date\" \(limits)/>"))
  #expect(model.attribute("x", of: "A")?.minimumValue == .date(10))
  #expect(model.attribute("x", of: "A")?.maximumValue == .date(20))
  #expect(model.remarks == [])
}

@Test func `remarks do not affect comparing models, and stay when a model is divided`() throws {
  let clean = try read(entity(#"<attribute name="x" attributeType="Integer 16" defaultValueString="0"/>"#))
  let replaced = try read(entity(#"<attribute name="x" attributeType="Integer 16" defaultValueString="NO"/>"#))
  #expect(clean == replaced && clean.remarks.isEmpty && replaced.remarks.count == 1)
  #expect(try ManagedObjectModel(merging: [replaced]).remarks == replaced.remarks)
}

@Test func `conflict markers and a truncated end are named`() throws {
  func problem(_ contents: String) -> GodwitError? {
    do {
      _ = try read(contents)
      return nil
    } catch { return error as? GodwitError }
  }
  let merge = "<model>\n<<<<<<< HEAD\n<entity name=\"A\"/>\n=======\n>>>>>>> branch\n</model>"
  let conflict = try #require(problem(merge))
  #expect(conflict.message.contains("the conflict markers of an unfinished merge ('<<<<<<<')"))
  #expect(conflict.location?.line == 2)
  let rest = try #require(problem("<model>\n<entity name=\"A\"/>\n>>>>>>> branch\n</model>"))
  #expect(rest.message.contains("conflict markers"))
  #expect(problem("<model>\n<entity name=\"A\">")?.cause == "the file is cut off: it was not written to its end")
  #expect(problem("<model>\n<entity name=\"A\"></model>")?.cause == nil)
}

@Test func `words that are not known are ignored with a remark at their first place`() throws {
  let text = model(
    """
    <entity name="A" isAbstrct="YES" future="1"><attribute name="x" attributeType="String" renamingIdentifier="y"/>
    <attribute name="z" attributeType="String" tint="red"/>
    <attribute name="w" attributeType="String" tint="blue"/><vector/>
    <relationship name="r" maxCount="1" optional="YES" destinationEntity="A" renamingIdentifier="q"/></entity>
    <entitty/>
    <configuration name="C" kind="x"><memberEntity name="A"/><other/></configuration>
    """)
  let found = try read(text)
  #expect(found.attribute("x", of: "A")?.renamingIdentifier == nil)
  #expect(found.relationship("r", of: "A")?.renamingIdentifier == nil)
  #expect(found.entity("A")?.isAbstract == false)
  #expect(found.configurations == ["C": ["A"]])
  #expect(found.entity("A")?.attributes.count == 3)
  let renaming = "Core Data does not rename here: write elementID"
  #expect(
    found.remarks.map(\.text) == [
      "the unknown element 'entitty' in <model> (did you mean 'entity'?) is ignored",
      "the unknown attribute 'isAbstrct' of <entity> (did you mean 'isAbstract'?) is ignored",
      "the unknown attribute 'future' of <entity> is ignored",
      "the unknown element 'vector' in <entity> is ignored",
      "'renamingIdentifier' of <attribute> 'x' is ignored: \(renaming)",
      "the unknown attribute 'tint' of <attribute> is ignored, here and in 1 other place",
      "'renamingIdentifier' of <relationship> 'r' is ignored: \(renaming)",
      "the unknown attribute 'kind' of <configuration> is ignored",
      "the unknown element 'other' in <configuration> is ignored",
    ])
  #expect(found.remarks.map { $0.location?.line } == [7, 3, 3, 5, 3, 4, 6, 8, 8])
}
