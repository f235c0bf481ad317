/// A JSON object of Apple's with known members: absent and `null` are the same, unknown members are passed over.
package protocol PayloadObject: Hashable, Sendable {
    /// The members this type decodes, by Apple's names.
    associatedtype Member: CaseIterable & RawRepresentable<String>

    /// Decodes the known members; a member of the wrong JSON type is an error that names it.
    init(_ json: JSONObject) throws(MalformedPayload)
}

extension PayloadObject {
    /// The names of all members this type decodes; any other one in a payload is new to us.
    package static var knownMembers: [String] {
        Member.allCases.map(\.rawValue)
    }
}
