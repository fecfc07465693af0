/// Files in good order that use every key.
enum Samples {
  static let jobs = [
    required,
    """
    godwit: 1
    job: peoplizer-3-to-4
    source: stores/people.sqlite
    destination: {path: out/people.sqlite, existing: append}
    models: &m [Peoplizer.xcdatamodeld, "Old.mom#Version 1"]
    destination-model: Peoplizer 4
    mappings: V3toV4.mapping.yaml
    assume-source-model: Peoplizer 1
    chunks:
      rows: 50000
      by:
        PersonToAdult: ["name BEGINSWITH 'A'", "NOT name BEGINSWITH 'A' OR name == nil"]
        Other: age > 3
    memory: 64 MiB
    on-invalid: {quarantine: {max-rows: 100, max-percent: 0.1}}
    merge-models: *m
    configuration: Cloud
    destination-type: xml
    cloudkit: drop
    version-order: [Peoplizer 3, Peoplizer 4]
    mapping-search: [maps, more]
    layout: {from: old/people.sqlite, names: {Person.friends: Z_1FRIENDS}, strict: true}
    unregistered-policies: default
    stages:
      - step: Peoplizer 4
        before: check
        after: tidy

    """,
    "godwit: 1\nsource: a\ndestination: {existing: in-place, keep-old: false}\nmodels: M\nmappings: inferred\nmemory: 33554432\n",
    "godwit: 1\nsource: a\ndestination: {path: b, existing: replace, keep-old: true}\nmodels: M\non-loss: allow-empty\n",
    "godwit: 1\nsource: a\ndestination: {existing: in-place}\nmodels: M\nlayout: {from: b.sqlite}\non-invalid: keep\n",
  ]

  static let mappings = [
    "godwit-mapping: 1\nentity-mappings: []\n",
    """
    godwit-mapping: 1
    source-model: Peoplizer 3
    destination-model: Peoplizer 4
    entity-mappings:
      - name: AddressToAddress
        type: copy
        source: Address
        destination: Address
      - name: PersonToAdult
        source: Person
        destination: Adult
        filter: age >= 18
        policy: FlagByPrefix
        unique-by: name
        attributes:
          name: $source.name
          age: 18
          celsius: ($source.temperature - 32.0) / 1.8
          country: '"unknown"'
          nothing: ~
          text: |

            TERNARY($source.age > 3,
              "a", "b")
          quoted: "\\"tab\\\\t\\""
          rank: { value: $source.rank, if-nil: default }
          plain: { value: 7 }
        relationships:
          address: { mapping: AddressToAddress, key-path: $source.address.@distinctUnionOfSets.country }
          embedded: { mapping: AddressToAddress }
          same: { mapping: AddressToAddress, key-path: $source }
          owner: { source-relationship: owner }
          friend: FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "PersonToAdult", $source.friend)
        user-info:
          colour: 'it''s: red # not'
          number: 7
          odd: "line\\nbreak \\u2028 é \\t"
        property-user-info:
          name: { colour: red, n: 1 }
          age: {}
      - name: Müller
        type: remove
        source: Müller
        unique-by: [a, b]

    """,
  ]
}
