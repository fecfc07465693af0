/// Strings: comparison, LIKE, MATCHES.
extension ExpressionCases {
  package static let strings = ExpressionCases(
    name: "strings",
    filters: [
      ("name == 'Zoë'", true), ("name == 'zoë'", false), ("name ==[c] 'zOË'", true), ("name ==[d] 'Zoe'", true),
      ("name ==[cd] 'ZOE'", true), ("name ==[n] 'Zoë'", true), ("name ==[l] 'Zoë'", true),
      (#"name == 'Zoe\u0308'"#, false), (#"name ==[d] 'Zoe\u0308'"#, true), ("name !=[c] 'ZOË'", false),
      ("name < 'Zz'", true), ("name < 'zoë'", true), ("name >[c] 'ZOA'", true), ("name >=[cd] 'zoe'", true),
      ("name BEGINSWITH 'Zo'", true), ("name BEGINSWITH 'zo'", false), ("name BEGINSWITH[c] 'ZO'", true),
      ("name ENDSWITH 'ë'", true), ("name ENDSWITH[d] 'e'", true), ("name ENDSWITH 'Zoëë'", false),
      ("name CONTAINS 'o'", true), ("name CONTAINS[c] 'O'", true), ("name CONTAINS ''", true),
      ("name CONTAINS 'Zoëx'", false), ("'oë' IN name", true), ("name IN 'Zoë and Bob'", true),
      ("name IN[c] 'ZOË'", true), ("'ß' ==[c] 'SS'", false), ("'İ' ==[c] 'i'", false), ("'İ' ==[cd] 'i'", true),
      ("'Ω' ==[c] 'ω'", true), ("'ÀÉ' ==[cd] 'ae'", true), ("'B' < 'a'", true), ("'B' <[c] 'a'", false),
      ("'a%' == 'a%'", true), ("'aaab' CONTAINS 'aab'", true), ("site BEGINSWITH 'https:'", true),
    ])

  package static let like = ExpressionCases(
    name: "LIKE",
    filters: [
      ("name LIKE 'Z*'", true), ("name LIKE 'Zo?'", true), ("name LIKE 'z*'", false), ("name LIKE[c] 'z*'", true),
      ("name LIKE[cd] 'zoe'", true), ("name LIKE '*o*'", true), ("name LIKE 'o'", false), ("'50%' LIKE '50%'", true),
      ("'50 percent' LIKE '50%'", false), ("'a_b' LIKE 'a_b'", true), ("'axb' LIKE 'a_b'", false),
      (#"'a*b' LIKE 'a\\*b'"#, true), (#"'axb' LIKE 'a\\*b'"#, false), (#"'a?b' LIKE 'a\\?b'"#, true),
      (#"'axb' LIKE 'a\\?b'"#, false), ("'' LIKE ''", true), ("'' LIKE '*'", true), ("'' LIKE '?'", false),
      ("'ab' LIKE '**'", true), ("'日本' LIKE '??'", true), (#"'e\u0301' LIKE '?'"#, false),
      (#"'a\nb' LIKE 'a*b'"#, true), ("nick LIKE '*'", nil), ("NOT nick LIKE '*'", nil), ("name LIKE nick", nil),
      ("name LIKE name", true),
    ])

  package static let matches = ExpressionCases(
    name: "MATCHES",
    filters: [
      ("name MATCHES 'Z.*'", true), ("name MATCHES 'Z'", false), ("name MATCHES[c] 'ZOË'", true),
      ("'abc' MATCHES 'a|abc'", true), (#"'ab12' MATCHES '[a-z]+\\d+'"#, true), (#"'ab\n' MATCHES 'ab'"#, false),
      ("'é' MATCHES[d] 'e'", true), ("'' MATCHES ''", true), (#"'a.b' MATCHES 'a\\.b'"#, true),
      (#"'axb' MATCHES 'a\\.b'"#, false), ("nick MATCHES '.*'", nil), ("NOT nick MATCHES '.*'", nil),
      (#"'2024-01-31' MATCHES '\\d{4}-\\d{2}-\\d{2}'"#, true), (#"'日本' MATCHES '\\p{Han}+'"#, true),
      ("name MATCHES name", true),
    ])
}
