import Foundation
import GodwitModel
import GodwitXcode

extension MappingFixture {
  /// A model as Xcode's editor archives it into mapping models: one entity with optional texts.
  package static func model(_ entityName: String, _ attributes: [String]) -> String {
    var a = ArchiveFixture()
    func tagged(_ values: [(String, PropertyListValue)]) -> PropertyListValue {
      let entries = values.map { ($0.0, a.object("XDTagged", ["_default": $0.1])) }
      let stereotype = a.object("XDStereotype", ["XDBucketForOwnedAttributesstorage": a.dictionary(entries)])
      return a.dictionary([("group", stereotype)])
    }
    let properties = attributes.map { name -> (String, PropertyListValue) in
      let values = tagged([("XD_PAttK_attributeType", .integer(700)), ("XD_PPSK_isOptional", .boolean(true))])
      return (name, a.object("XDPMAttribute", ["_name": a.string(name), "XDBucketForStereotypesstorage": values]))
    }
    let empty = a.dictionary([])
    let entity = a.object(
      "XDPMEntity",
      [
        "_name": a.string(entityName), "XDBucketForStereotypesstorage": empty,
        "XDBucketForGeneralizationsstorage": a.array([]), "XDBucketForOwnedAttributesstorage": a.dictionary(properties),
      ])
    let package = a.object("XDModelPackage", ["XDBucketForClassesstorage": a.dictionary([(entityName, entity)])])
    let top = a.object("XDPMModel", ["_xd_rootPackage": package])
    return Data(a.archive(top)).base64EncodedString()
  }
}
