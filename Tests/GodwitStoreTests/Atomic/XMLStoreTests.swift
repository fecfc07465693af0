import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The head of a store, with what comes after it.
private func store(
  _ objects: String, prolog: String = "<?xml version=\"1.0\" standalone=\"no\"?>\n", metadata: String = "",
  next: Int = 200
) -> String {
  """
  \(prolog)<!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
  <database>
    <databaseInfo>
      <version>134481920</version>
      <UUID>343C8D7F-A000-42C4-8463-43FA1E5EF3FB</UUID>
      <nextObjectID>\(next)</nextObjectID>
      <metadata>\(metadata)</metadata>
    </databaseInfo>
  \(objects)
  </database>
  """
}

private func person(_ id: String, _ inside: String = "") -> String {
  "<object type=\"PERSON\" id=\"\(id)\">\(inside)</object>"
}

private func pet(_ id: String, owner: String? = nil) -> String {
  let reference = owner.map { " idrefs=\"\($0)\"" } ?? ""
  return
    "<object type=\"PET\" id=\"\(id)\"><relationship name=\"owner\" type=\"0/1\" destination=\"PERSON\"\(reference)></relationship></object>"
}

private func pets(_ ids: String) -> String {
  "<relationship name=\"pets\" type=\"0/0\" destination=\"PET\" idrefs=\"\(ids)\"></relationship>"
}

private func model() throws -> ManagedObjectModel {
  func attribute(_ name: String, _ type: AttributeType) -> AttributeDescription {
    AttributeDescription(name: name, type: type)
  }
  var pets = RelationshipDescription(name: "pets", destinationEntityName: "Pet", inverseName: "owner", isToMany: true)
  pets.isOrdered = true
  var age = attribute("shoeSize", .integer16)
  age.defaultValue = .integer(42)
  return try ManagedObjectModel(
    name: "Pets",
    entities: [
      EntityDescription(
        name: "Person",
        attributes: [
          attribute("fullName", .string), age, attribute("height", .float), attribute("born", .date),
          attribute("photo", .binary), attribute("isTall", .boolean), attribute("id", .uuid),
          attribute("wage", .decimal),
        ], relationships: [pets]),
      EntityDescription(name: "Employee", superentityName: "Person"),
      EntityDescription(
        name: "Pet",
        relationships: [RelationshipDescription(name: "owner", destinationEntityName: "Person", inverseName: "pets")]),
      EntityDescription(name: "Ghost", isAbstract: true),
    ])
}

private func open(_ text: String) throws -> StoreConnection {
  let folder = try TemporaryFolder()
  let path = folder.file("store.xml")
  try Data(text.utf8).write(to: URL(filePath: path))
  let connection = try StoreConnection.openStore(readingAt: path, model: model())
  #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["store.xml"])
  return connection
}

private func rows(_ text: String, _ sql: String) throws -> [[SQLValue]] { try open(text).rows(sql) }

@Suite struct XMLStoreTests {
  @Test func `XML values are read by attribute type, and missing ones are nil`() throws {
    let text = store(
      person(
        "z102",
        """
        <attribute name="fullname" type="string"> A &lt;b&gt; &amp;&#13;
        <![CDATA[<c>]]></attribute><attribute name="born" type="date">336046917.00164198875427246094</attribute>
        <attribute name="height" type="float">1.8</attribute><attribute name="istall" type="bool">1</attribute>
        <attribute name="photo" type="binary">AQI
        D
        </attribute><attribute name="wage" type="decimal">10.11</attribute>
        <attribute name="id" type="uuid">343C8D7F-A000-42C4-8463-43FA1E5EF3FB</attribute>
        """) + person("z7"))
    let found = try rows(
      text,
      "SELECT Z_PK, ZFULLNAME, ZBORN, ZHEIGHT, ZISTALL, hex(ZPHOTO), ZWAGE, length(ZID), ZSHOESIZE FROM source.ZPERSON ORDER BY 1"
    )
    #expect(found[0] == [.int(7), .null, .null, .null, .null, .text(""), .null, .null, .null])
    #expect(
      found[1] == [
        .int(102), .text(" A <b> &\r\n<c>"), .real(336046917.001642), .real(Double(Float(1.8))), .int(1),
        .text("010203"), .real(10.11), .int(16), .null,
      ])
  }

  @Test func `Core Data's escapes are read in every text, and nowhere else`() throws {
    func attribute(_ text: String) -> String { "<attribute name=\"fullname\" type=\"string\">\(text)</attribute>" }
    let written = [
      #"\u3c00note xml:space="preserve"\u3e00R \u2600 D\u3c00/note\u3e00"#, #"a\\\\b\\u3c00 \u3DD8\u00de"#,
      #"x\u0000\u0100\u0d00\ufeff"#, #"C:\temp &lt;<![CDATA[\u3c]]>00"#,
    ]
    let texts = [
      #"<note xml:space="preserve">R & D</note>"#, #"a\\b\u3c00 "# + "\u{1F600}", "x\u{0}\u{1}\r\u{FFFE}",
      #"C:\temp <<"#,
    ]
    let objects = written.enumerated().map { person("z\($0.offset + 1)", attribute($0.element)) }.joined()
    #expect(
      try rows(store(objects), "SELECT ZFULLNAME FROM source.ZPERSON ORDER BY Z_PK")
        == texts.map { [.text(Array($0.utf8))] })
    let metadata = #"<plist version="1.0"><dict><key>\u3c00</key><string>a\\b\u2600</string></dict></plist>"#
    let folder = try TemporaryFolder()
    try Data(store("", metadata: metadata).utf8).write(to: URL(filePath: folder.file("store.xml")))
    let values = try StoreMetadata(readingStoreAt: folder.file("store.xml")).values
    #expect(values[#"\u3c00"#] == .string(#"a\\b\u2600"#))
  }

  @Test func `an XML store may name one side of a relationship; order and counters are kept`() throws {
    let text = store(
      person("z1", pets("z9 z3 z5")) + pet("z3", owner: "z1") + pet("z5") + pet("z9", owner: "z1")
        + pet("z4", owner: "z1")
        + "<object type=\"EMPLOYEE\" id=\"z2\"></object>")
    let connection = try open(text)
    #expect(
      try connection.rows("SELECT Z_PK, ZOWNER, Z_FOK_OWNER FROM source.ZPET ORDER BY 3") == [
        [.int(9), .int(1), .int(2048)], [.int(3), .int(1), .int(3072)], [.int(5), .int(1), .int(4096)],
        [.int(4), .int(1), .int(5120)],
      ])
    #expect(
      try connection.rows("SELECT DISTINCT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_SUPER = 0 AND Z_NAME != 'Ghost'") == [
        [.int(200)]
      ])
    #expect(try connection.value("PRAGMA source.integrity_check") == .text("ok"))
  }

  @Test func `XML identifiers of another form are numbered by position`() throws {
    let text = store(person("atom0", pets("z4")) + pet("z4", owner: "atom0") + person("B"))
    let connection = try open(text)
    #expect(try connection.rows("SELECT Z_PK FROM source.ZPERSON") == [[.int(1)], [.int(3)]])
    #expect(try connection.rows("SELECT Z_PK, ZOWNER FROM source.ZPET") == [[.int(2), .int(1)]])
  }

  @Test(arguments: [
    ("a byte order mark", "<?xml", "\u{FEFF}<?xml"), ("CRLF", "\n", "\r\n"),
    ("comments", "<object", "<!-- <object> --><?pi x?>\n<object"),
    ("no prolog", "<?xml version=\"1.0\" standalone=\"no\"?>\n", ""), ("empty tags", "></relationship>", "/>"),
    ("single quotes", "\"", "'"),
  ]) func `other spellings of the same XML store are read`(name: String, text: String, change: String) throws {
    let text = store(person("z1", pets("z2")) + pet("z2", owner: "z1")).replacing(text, with: change)
    #expect(try rows(text, "SELECT Z_PK, ZOWNER FROM source.ZPET") == [[.int(2), .int(1)]], "\(name)")
  }

  private static let damaged: [(name: String, text: String, message: String)] = [
    ("cut off", String(store(person("z1")).dropLast(30)), "found the end of the file"),
    ("cut off in a tag", store(person("z1")).components(separatedBy: " id=")[0], "found the end of the file"),
    ("another root", "<databases><database/></databases>", "expected <database>"),
    ("no head", "<database>" + person("z1") + "</database>", "expected <databaseInfo>"),
    ("no identifier", store("").replacing("343C8D7F-A000-42C4-8463-43FA1E5EF3FB", with: ""), "expected a <UUID>"),
    ("counter", store("").replacing(">200<", with: ">many<"), "<nextObjectID>"),
    (
      "type of a value", store(person("z1", "<attribute name=\"fullname\" type=\"int16\">1</attribute>")),
      "expected type 'string'"
    ),
    (
      "number", store(person("z1", "<attribute name=\"shoesize\" type=\"int16\">forty</attribute>")),
      "expected Integer 16"
    ),
    (
      "range", store(person("z1", "<attribute name=\"shoesize\" type=\"int16\">40000</attribute>")),
      "expected Integer 16"
    ),
    ("truth", store(person("z1", "<attribute name=\"istall\" type=\"bool\">2</attribute>")), "expected Boolean"),
    ("base64", store(person("z1", "<attribute name=\"photo\" type=\"binary\">?</attribute>")), "expected Binary"),
    ("uuid", store(person("z1", "<attribute name=\"id\" type=\"uuid\">1</attribute>")), "expected UUID"),
    ("decimal", store(person("z1", "<attribute name=\"wage\" type=\"decimal\">1x</attribute>")), "expected Decimal"),
    ("date", store(person("z1", "<attribute name=\"born\" type=\"date\">today</attribute>")), "expected Date"),
    ("used twice", store(person("z1") + pet("z1")), "identifier 'z1' is used twice"),
    ("dangling", store(pet("z1", owner: "z99")), "names 'z99', which no object has"),
    ("no identifier at all", store(pet("z1", owner: "Z9")), "names 'Z9', which no object has"),
    ("wrong entity", store(pet("z1", owner: "z2") + pet("z2")), "is not an object of entity 'Person'"),
    ("dangling to-many", store(person("z1", pets("z99"))), "names 'z99', which no object has"),
    ("two owners", store(person("z1", pets("z3")) + person("z2", pets("z3")) + pet("z3")), "belongs to another one"),
    ("sides differ", store(person("z1", pets("z3")) + person("z2") + pet("z3", owner: "z2")), "belongs to another one"),
    ("named twice", store(person("z1", pets("z3 z3")) + pet("z3")), "names 'z3' twice"),
    ("to-one of two", store(pet("z1", owner: "z2 z3") + person("z2") + person("z3")), "names 2 objects"),
    ("unknown entity", store("<object type=\"PERSONS\" id=\"z1\"></object>"), "is not an entity of model 'Pets'"),
    ("abstract entity", store("<object type=\"GHOST\" id=\"z1\"></object>"), "it is abstract"),
    ("unknown attribute", store(person("z1", "<attribute name=\"x\" type=\"bool\">1</attribute>")), "no attribute 'x'"),
    (
      "attribute twice",
      store(person("z1", String(repeating: "<attribute name=\"istall\" type=\"bool\">1</attribute>", count: 2))),
      "once, found it twice"
    ),
    (
      "unknown relationship", store(person("z1", "<relationship name=\"x\" destination=\"PET\"/>")),
      "no relationship 'x'"
    ),
    ("no type", store("<object id=\"z1\"></object>"), "expected attribute 'type'"),
    ("other element", store(person("z1", "<fetched/>")), "found <fetched>"),
    (
      "element in a value", store(person("z1", "<attribute name=\"fullname\" type=\"string\">a<b/></attribute>")),
      "found <b>"
    ),
    ("metadata", store("", metadata: "<plist version=\"1.0\"><array/></plist>"), "expected one <dict>"),
    ("key without value", store("", metadata: "<plist><dict><key>a</key></dict></plist>"), "a value after each <key>"),
    (
      "hashes", store("", metadata: "<plist><dict><key>NSStoreModelVersionHashes</key><string/></dict></plist>"),
      "holds no hashes"
    ),
    ("data", store("", metadata: "<plist><dict><key>a</key><data>?</data></dict></plist>"), "expected base64"),
    ("nesting", store("", metadata: "<plist>" + String(repeating: "<array>", count: 100_000)), "nested elements"),
    (
      "entity bomb", "<!DOCTYPE database [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><database>&b;</database>",
      "expected no declarations"
    ),
    (
      "entity", store(person("z1", "<attribute name=\"fullname\" type=\"string\">&a;</attribute>")), "unknown reference"
    ),
    (
      "control character", store(person("z1", "<attribute name=\"fullname\" type=\"string\">&#1;</attribute>")),
      "unknown reference"
    ),
    (
      "half of a character", store(person("z1", #"<attribute name="fullname" type="string">a\u3dd8b</attribute>"#)),
      #"found '\u3dd8', which is half of one"#
    ),
    ("encoding", "<?xml version=\"1.0\" encoding=\"UTF-16\"?><database></database>", "expected the encoding UTF-8"),
    ("two roots", store("") + "<database></database>", "expected the end of the file"),
    ("crossed tags", store(person("z1", "</database>")), "expected </object>"),
    ("stray text", store("hello"), "found text"),
  ]

  @Test(arguments: damaged)
  func `a damaged XML store is refused with its place`(name: String, text: String, message: String) throws {
    let error = try #require(throws: GodwitError.self) { try open(text) }
    #expect(error.code == .dataWrong, "\(name)")
    #expect(error.message.contains(message), "\(name): \(error)")
    #expect(error.message.contains("holds no hashes") || error.location?.file.hasSuffix("store.xml") == true, "\(name)")
  }

  @Test func `no truncated or changed XML store makes the reader trap`() throws {
    let folder = try TemporaryFolder()
    let whole = Array(
      store(
        person("z1", pets("z2") + "<attribute name=\"born\" type=\"date\">1.5</attribute>") + pet("z2", owner: "z1"),
        metadata: "<plist version=\"1.0\"><dict><key>a</key><integer>1</integer></dict></plist>"
      ).utf8)
    let model = try model()
    let path = folder.file("store.xml")
    func read(_ bytes: [UInt8]) throws {
      try Data(bytes).write(to: URL(filePath: path))
      do { _ = try StoreConnection.openStore(readingAt: path, model: model) } catch let error as GodwitError {
        #expect(error.code == .dataWrong, "\(error)")
      }
    }
    for length in stride(from: 1, to: whole.count, by: 19) { try read(Array(whole[..<length])) }
    for place in stride(from: 0, to: whole.count, by: 17) {
      var bytes = whole
      bytes[place] = [0x00, 0x3C, 0x22, 0xFF, 0x26][place % 5]
      try read(bytes)
    }
  }

  @Test func `an XML store refuses names that differ only in case`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("store.xml")
    try Data(store("").utf8).write(to: URL(filePath: path))
    let model = try ManagedObjectModel(
      name: "M",
      entities: [
        EntityDescription(
          name: "A", attributes: [.init(name: "url", type: .string), .init(name: "URL", type: .string)])
      ])
    let error = try #require(throws: GodwitError.self) { try StoreConnection.openStore(readingAt: path, model: model) }
    #expect(error.code == .configuration)
    #expect(error.message.contains("differ only in case"))
  }

  @Test func `a relationship that is its own inverse comes back from XML`() throws {
    let folder = try TemporaryFolder()
    let model = try ManagedObjectModel(
      name: "M",
      entities: [
        EntityDescription(
          name: "A",
          relationships: [
            RelationshipDescription(
              name: "friends", destinationEntityName: "A", inverseName: "friends", isToMany: true),
            RelationshipDescription(name: "twin", destinationEntityName: "A", inverseName: "twin"),
          ])
      ])
    let builder = try StoreBuilder(path: folder.file("a.sqlite"), model: model)
    try builder.insert("A", relationships: ["friends": [2, 3, 1], "twin": [3]])
    try builder.insert("A", relationships: ["friends": [3]])
    try builder.insert("A", relationships: ["twin": [1]])
    try builder.finish()
    try AtomicStoreWriter(readingStoreAt: folder.file("a.sqlite"), model: model, name: "a").write(
      to: folder.file("a.xml"))
    let found = try XMLStoreContent(path: folder.file("a.xml")).byID
    #expect(found["z3"]?.relationships == ["friends": ["z1", "z2"], "twin": ["z1"]])
    for sql in ["SELECT * FROM source.Z_1FRIENDS ORDER BY 1, 2", "SELECT Z_PK, ZTWIN FROM source.ZA ORDER BY 1"] {
      let (before, after) = try (
        StoreConnection.openStore(readingAt: folder.file("a.sqlite")).rows(sql),
        StoreConnection.openStore(readingAt: folder.file("a.xml"), model: model).rows(sql)
      )
      #expect(before == after)
    }
  }

  @Test func `a property list is named`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("store.bin")
    try Data(("bplist00" + "\u{5}NSPersistenceFrameworkVersion").utf8).write(to: URL(filePath: path))
    let error = try #require(throws: GodwitError.self) { try StoreFiles(path: path) }
    #expect(error.code == .dataWrong)
    #expect(error.message.contains("found a property list"))
    #expect(error.remedy?.contains("in-memory") == true)
  }

  @Test(.enabled(if: Corpus.isPresent)) func `every XML store of the corpus is read in full`() throws {
    let folder = try #require(Corpus.folder)
    let files = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
    let paths = files.filter { $0.hasSuffix("xcmapping.xml") }
    #expect(paths.count >= 12)
    var values = 0
    for path in TestTier.sample(paths, each: 3).map({ folder.path + "/" + $0 }) {
      let content = try XMLStoreContent(path: path)
      let model = try Self.xcodeModel(of: content)
      let reader = try ObjectReader(path: path, model: model)
      #expect(reader.storeUUID == content.info["UUID"])
      let expected = content.byID
      var objects = 0
      for entity in model.entities.map(\.name) {
        try reader.forEachObject(of: [entity]) { object in
          objects += 1
          let source = try #require(expected["z\(object.reference.key)"])
          #expect(source.type == entity)
          for (name, value) in object.properties {
            values += 1
            switch value {
            case .attribute(let value, let attribute):
              #expect(try Self.text(value) == Self.plain(source.attributes[name], attribute.type), "\(path) \(name)")
            case .toOne(let reference):
              #expect(source.relationships[name] ?? [] == (reference.map { ["z\($0.key)"] } ?? []))
            case .toMany(let references):
              #expect(Set(source.relationships[name] ?? []) == Set(references.map { "z\($0.key)" }))
            case .missingFile, .large: Issue.record("no external files")
            }
          }
          return true
        }
      }
      #expect(objects == content.objects.count)
      let summary = try StoreSummary(readingStoreAt: path)
      #expect(summary.entities.compactMap(\.rows).reduce(0, +) == Int64(objects))
      #expect(try StoreMetadata(readingStoreAt: path).versionHashes.count == 5)
    }
    #expect(values > 700)
  }

  /// Links need the model of the application, values only their types.
  @Test(.enabled(if: Corpus.isPresent && Corpus.kinds != nil))
  func `every XML store and mapping model is written again with the texts that Core Data wrote`() throws {
    var texts = (values: 0, escaped: 0)
    let names: Set<String> = ["xcmapping.xml", "Database.xml", "TestStore.storedata"]
    var (mappings, others): ([String], [String]) = ([], [])
    for folder in [Corpus.folder, Corpus.kinds].compactMap(\.self) {
      for case let file as String in try #require(FileManager.default.enumerator(atPath: folder.path)) {
        let name = (file as NSString).lastPathComponent
        guard names.contains(name) else { continue }
        let path = folder.path + "/" + file
        if name == "xcmapping.xml" { mappings.append(path) } else { others.append(path) }
      }
    }
    #expect(mappings.count + others.count >= 14)
    for path in TestTier.sample(mappings.sorted(), each: 4) + others {
      let folder = try TemporaryFolder()
      let link = #/<relationship [^>]*></relationship>/#
      let text = try String(contentsOf: URL(filePath: path), encoding: .utf8).replacing(link, with: "")
      try Data(text.utf8).write(to: URL(filePath: folder.file("a.xml")))
      let content = try XMLStoreContent(path: folder.file("a.xml"))
      let model = try Self.valueModel(of: content)
      let connection = try StoreConnection(path: nil)
      try connection.attachSource(StoreFiles(path: folder.file("a.xml")), workFolder: folder.path, model: model)
      try connection.close()
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      let converted = try folder.file(#require(names.first { $0.hasPrefix("source-") }))
      let expected = content.byID
      let reader = try ObjectReader(path: converted, model: model)
      for entity in model.entities.map(\.name) {
        try reader.forEachObject(of: [entity]) { object in
          for case (let name, .attribute(.string(let text), _)) in object.properties {
            #expect(text == expected["z\(object.reference.key)"]?.attributes[name].map { Text($0) }, "\(path) \(name)")
          }
          return true
        }
      }
      try AtomicStoreWriter(readingStoreAt: converted, model: model, name: "b").write(to: folder.file("b.xml"))
      let again = try XMLStoreContent(path: folder.file("b.xml")).byID
      #expect(again.count == content.objects.count)
      for object in content.objects {
        for (name, text) in object.written where object.types[name] == "string" {
          #expect(again[object.id]?.written[name] == text, "\(path) \(object.id) \(name)")
          texts.values += 1
          if text.contains("\\") { texts.escaped += 1 }
        }
      }
    }
    #expect(texts.values > TestTier.choose(200, long: 1000) && texts.escaped >= TestTier.choose(1, long: 8), "\(texts)")
  }

  /// A model with what the file has; Xcode's own is not published.
  private static func xcodeModel(of content: XMLStoreContent) throws -> ManagedObjectModel {
    func link(_ name: String, _ entity: String, _ inverse: String) -> RelationshipDescription {
      RelationshipDescription(
        name: name, destinationEntityName: "XDDEV" + entity, inverseName: inverse, isToMany: name.hasSuffix("s"))
    }
    let relationships = [
      "MAPPINGMODEL": [link("entitymappings", "ENTITYMAPPING", "mappingmodel")],
      "ENTITYMAPPING": [
        link("mappingmodel", "MAPPINGMODEL", "entitymappings"),
        link("attributemappings", "ATTRIBUTEMAPPING", "entitymapping"),
        link("relationshipmappings", "RELATIONSHIPMAPPING", "entitymapping"),
      ],
      "ATTRIBUTEMAPPING": [link("entitymapping", "ENTITYMAPPING", "attributemappings")],
      "RELATIONSHIPMAPPING": [link("entitymapping", "ENTITYMAPPING", "relationshipmappings")],
    ]
    return try valueModel(
      of: content, relationships: Dictionary(uniqueKeysWithValues: relationships.map { ("XDDEV" + $0.key, $0.value) }))
  }

  /// A model of the entities and attributes that the file has.
  private static func valueModel(
    of content: XMLStoreContent, relationships: [String: [RelationshipDescription]] = [:]
  ) throws -> ManagedObjectModel {
    let types: [String: AttributeType] = [
      "string": .string, "bool": .boolean, "int16": .integer16, "int32": .integer32, "int64": .integer64,
      "double": .double, "float": .float, "decimal": .decimal, "date": .date, "binary": .binary,
    ]
    let entities = Set(content.objects.map(\.type) + relationships.keys).sorted().map { entity in
      var attributes: [String: AttributeType] = [:]
      for object in content.objects where object.type == entity {
        for (name, type) in object.types { if let known = types[type] { attributes[name] = known } }
      }
      return EntityDescription(
        name: entity,
        attributes: attributes.sorted { $0.key < $1.key }.map { .init(name: $0.key, type: $0.value) },
        relationships: relationships[entity] ?? [])
    }
    return try ManagedObjectModel(name: "M", entities: entities)
  }

  private static func text(_ value: AttributeValue) throws -> String? {
    switch value {
    case .null: nil
    case .string(let text): text.string
    case .boolean(let truth): truth ? "1" : "0"
    case .integer(let number): "\(number)"
    case .data(let bytes): Data(bytes).base64EncodedString()
    default: throw GodwitError(.internalBug, "another type")
    }
  }

  private static func plain(_ text: String?, _ type: AttributeType) -> String? {
    type == .binary ? text?.filter { !$0.isWhitespace } : text
  }
}
