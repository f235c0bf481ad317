package import StrictJSON

/// A JSON object of Apple's with known members; `null` counts as absent, unknown members are ignored.
package protocol PayloadObject: Hashable, Sendable {
    /// The decoded members, by Apple's names.
    associatedtype Member: CaseIterable & RawRepresentable<String>

    /// Decodes the known members; throws for one of the wrong JSON type.
    init(_ json: JSONObject) throws(MalformedPayload)
}
