import Foundation
import GodwitModel
import TestSupport
import Testing

/// The published pairs of a definition and the hash that Apple's software stored for it.
private struct PublishedPairs: Decodable {
  struct Property: Decodable {
    var kind: String
    var name: String
    var type: Int?
    var optional: Bool?
    var transient: Bool?
    var modifier: String?
    var derivation: String?
    var preserveAfterDeletion: Bool?
    var externalBinary: Bool?
    var destination: String?
    var inverse: String?
    var maxCount: Int?
    var minCount: Int?
    var ordered: Bool?
  }

  struct Entity: Decodable {
    var name: String
    var parentHash: String?
    var abstract: Bool?
    var modifier: String?
    var unique: [[String]]?
    var properties: [Property]
    var hash: String
  }

  var entities: [Entity]

  static func load() throws -> PublishedPairs {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(
      PublishedPairs.self,
      from: Data(contentsOf: URL(filePath: Corpus.formats("version-hash-pairs.json"))))
  }
}

private func computedHash(of entity: PublishedPairs.Entity) throws -> VersionHash {
  var digests: [String: VersionHash] = [:]
  for property in entity.properties where property.transient != true {
    if property.kind == "attribute" {
      let number = try #require(property.type)
      var attribute = AttributeDescription(
        name: property.name, type: try #require(AttributeType(rawValue: number)),
        isOptional: property.optional ?? false)
      attribute.versionHashModifier = property.modifier
      attribute.derivationExpression = property.derivation
      attribute.preservesValueInHistoryOnDeletion = property.preserveAfterDeletion ?? false
      attribute.allowsExternalBinaryDataStorage = property.externalBinary ?? false
      digests[property.name] = VersionHash(attribute)
    } else {
      var relationship = RelationshipDescription(
        name: property.name, destinationEntityName: try #require(property.destination),
        inverseName: property.inverse, isOptional: property.optional ?? false)
      relationship.maxCount = property.maxCount ?? 0
      relationship.minCount = property.minCount ?? 0
      relationship.isOrdered = property.ordered ?? false
      relationship.versionHashModifier = property.modifier
      digests[property.name] = VersionHash(relationship, isOwnInverse: false)
    }
  }
  var description = EntityDescription(name: entity.name, isAbstract: entity.abstract ?? false)
  description.versionHashModifier = entity.modifier
  description.uniquenessConstraints = entity.unique ?? []
  let parent = entity.parentHash.flatMap(VersionHash.init(base64:))
  return VersionHashParts(description, parent: parent, digests: digests).hash
}

@Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
func `every published pair of definition and hash is reproduced`() throws {
  let pairs = try PublishedPairs.load()
  #expect(pairs.entities.count >= 132)
  for entity in pairs.entities {
    #expect(try computedHash(of: entity).base64 == entity.hash, "\(entity.name)")
  }
}

// MARK: Facts

/// Pet and User of CoreDataPlus' SampleModel3, versions 1 and 2: their hashes are known from its VersionInfo.plist.
private func users(withPets: Bool) throws -> ManagedObjectModel {
  var user = EntityDescription(
    name: "User",
    attributes: [
      AttributeDescription(name: "petName", type: .string),
      AttributeDescription(name: "name", type: .string, isOptional: false),
    ])
  guard withPets else { return try ManagedObjectModel(name: "Users", entities: [user]) }
  user.relationships = [RelationshipDescription(name: "pet", destinationEntityName: "Pet", inverseName: "owner")]
  let pet = EntityDescription(
    name: "Pet", attributes: [AttributeDescription(name: "name", type: .string, isOptional: false)],
    relationships: [RelationshipDescription(name: "owner", destinationEntityName: "User", inverseName: "pet")])
  return try ManagedObjectModel(name: "Users 2", entities: [user, pet])
}

@Test func `hash, digest and checksum of a model are those that Core Data stored`() throws {
  let model = try users(withPets: false)
  #expect(model.versionHashes.mapValues(\.base64) == ["User": "azH06XtpHRbEyCC65V+JQI1HATvUIVHs/eHqx/5L55g="])
  #expect(
    model.versionHashesDigest
      == "0KLB/FnL8roMcgeszeCxnPnvYqnn4VzB2DpFP6csqrDKzLB6fyG5rrVfjY5DtnQxx4355oWuKFublPf2Jo1UWg==")
  #expect(model.versionChecksum == "u970QgYhRHEJGIt0zQr1UhuZL2ZJ1KxBS+B7rkAx0ik=")
}

@Test func `relationships enter the hash with destination, inverse and counts`() throws {
  let model = try users(withPets: true)
  #expect(model.versionHash(of: "Pet")?.base64 == "dnNCJipkWHMMeKrnPFMo0PyqTjWW0vh/IuNm60ap9G8=")
  #expect(model.versionHash(of: "User")?.base64 == "akfL7w4/hMJEkkn9yD8APX5RQ3j47pp2qNTA7IuxuCI=")
  #expect(model.versionHash(of: "Uesr") == nil)
  #expect(model.versionChecksum == "rzn6eNBLyn8k3AoC3kH3yymPT0vSUPaVcgi0v2SuHS8=")
}

@Test func `an abstract entity with one number has the hash that Core Data stored`() throws {
  let writer = EntityDescription(
    name: "Writer", isAbstract: true,
    attributes: [AttributeDescription(name: "age", type: .integer16, isOptional: false)])
  var author = EntityDescription(
    name: "Author", superentityName: "Writer",
    attributes: [AttributeDescription(name: "alias", type: .string, isOptional: false)],
    relationships: [RelationshipDescription(name: "books", destinationEntityName: "Book", isToMany: true)])
  author.relationships[0].inverseName = "author"
  author.relationships[0].maxCount = -1
  author.uniquenessConstraints = [["alias"]]
  let book = EntityDescription(
    name: "Book",
    relationships: [RelationshipDescription(name: "author", destinationEntityName: "Author", inverseName: "books")])
  let model = try ManagedObjectModel(name: "Books", entities: [author, writer, book])
  #expect(model.versionHash(of: "Writer")?.base64 == "1U76tdOcs/Wd+AGNteTLKRLO1Jyg/euwKaMmzXCEeyU=")
  #expect(model.versionHash(of: "Author")?.base64 == "pa+S3O3KI2JB4BuvUcDpfYBrzD0oUAq8bQOSbX4GWyg=")
}

@Test func `a model fits the hashes of its own entities and of no others`() throws {
  let model = try users(withPets: true)
  let hashes = model.versionHashes
  #expect(model.isCompatible(with: hashes))
  #expect(!model.isCompatible(with: try users(withPets: false).versionHashes))
  #expect(!model.isCompatible(with: ["User": try #require(hashes["User"])]))
  #expect(!model.isCompatible(with: hashes.merging(["Other": try #require(hashes["User"])]) { a, _ in a }))
}

@Test func `changes that do not affect the stored form do not change the hash`() throws {
  let model = try users(withPets: true)
  let entities = model.entities.map { entity in
    var entity = entity
    entity.managedObjectClassName = "Other"
    entity.renamingIdentifier = "Old"
    entity.userInfo = ["a": "b"]
    var memo = AttributeDescription(name: "memo", type: .undefined)
    memo.isTransient = true
    entity.attributes.append(memo)
    entity.relationships[0].deleteRule = .cascade
    entity.attributes[0].defaultValue = AttributeValue("x")
    return entity
  }
  let other = try ManagedObjectModel(name: "Other", entities: entities)
  #expect(other.versionHashes == model.versionHashes)
}

@Test func `a version hash is 32 bytes`() {
  #expect(VersionHash(base64: "azH06XtpHRbEyCC65V+JQI1HATvUIVHs/eHqx/5L55g=")?.bytes.count == 32)
  #expect(VersionHash(base64: "azH0") == nil)
  #expect(VersionHash(base64: "?") == nil)
  #expect(VersionHash(bytes: [UInt8](repeating: 1, count: 33)) == nil)
}

@Test func `a count is hashed as NSExpression prints it, other derivations as they are`() {
  #expect(VersionHash.printed(derivation: "pages.@count") == "count:(pages)")
  #expect(VersionHash.printed(derivation: "canonical:(name)") == "canonical:(name)")
  #expect(VersionHash.printed(derivation: "items.@sum.price") == "items.@sum.price")
}

@Test func `rules that no published hash confirms are named`() throws {
  #expect(try users(withPets: true).unconfirmedHashRules == [])
  var person = EntityDescription(
    name: "Pérson",
    attributes: [
      .composite("home", [.make("city")]), AttributeDescription(name: "photo", type: .binary),
      AttributeDescription(name: "search", type: .string), AttributeDescription(name: "pages", type: .integer64),
      AttributeDescription(name: "Zip", type: .string),
    ],
    relationships: [RelationshipDescription(name: "friend", destinationEntityName: "Pérson", inverseName: "friend")])
  person.attributes[1].allowsExternalBinaryDataStorage = true
  person.attributes[1].preservesValueInHistoryOnDeletion = true
  person.attributes[2].derivationExpression = "canonical:(name)"
  person.attributes[3].derivationExpression = "books.@count"
  let model = try ManagedObjectModel(name: "People", entities: [person])
  #expect(
    model.unconfirmedHashRules.map { "\($0.rule) \($0.propertyName ?? "-")" } == [
      "bothAttributeFlags photo", "derivationExpression search",
      "ownInverse friend", "nonASCIIName -",
    ])
}

@Test func `a relationship that is its own inverse counts as one without, also when inherited`() throws {
  func hashes(inverse: String?) throws -> [String: VersionHash] {
    let person = EntityDescription(
      name: "Person",
      relationships: [RelationshipDescription(name: "friend", destinationEntityName: "Person", inverseName: inverse)])
    let child = EntityDescription(name: "Child", superentityName: "Person")
    return try ManagedObjectModel(name: "People", entities: [person, child]).versionHashes
  }
  #expect(try hashes(inverse: "friend") == hashes(inverse: nil))

  // The same name on another entity is an inverse like any other.
  func pair(inverse: String?) throws -> VersionHash? {
    let a = EntityDescription(
      name: "A", relationships: [RelationshipDescription(name: "x", destinationEntityName: "B", inverseName: inverse)])
    let b = EntityDescription(
      name: "B", relationships: [RelationshipDescription(name: "x", destinationEntityName: "A", inverseName: inverse)])
    return try ManagedObjectModel(name: "Pair", entities: [a, b]).versionHash(of: "A")
  }
  #expect(try pair(inverse: "x") != pair(inverse: nil))
}

@Test func `a composite attribute counts by its flattened stored elements in name order`() throws {
  let (a, b) = (AttributeDescription(name: "a", type: .string), AttributeDescription(name: "b", type: .double))
  var memo = AttributeDescription(name: "memo", type: .string)
  memo.isTransient = true
  let hash = VersionHash(.composite("x", [b, .composite("inner", [a]), memo]))
  #expect(hash == VersionHash(.composite("y", isOptional: false, [a, b])))
  #expect(hash != VersionHash(.composite("x", [a])))
}

@Test func `a transient override takes an inherited attribute out of the hash`() throws {
  func hash(_ attributes: [AttributeDescription]) throws -> VersionHash? {
    let parent = EntityDescription(name: "P", attributes: [AttributeDescription(name: "a", type: .string)])
    let child = EntityDescription(name: "C", superentityName: "P", attributes: attributes)
    return try ManagedObjectModel(name: "M", entities: [parent, child]).versionHash(of: "C")
  }
  var hidden = AttributeDescription(name: "a", type: .string)
  hidden.isTransient = true
  #expect(try hash([hidden]) != hash([]))
  #expect(try hash([AttributeDescription(name: "a", type: .string)]) == hash([]))
}
