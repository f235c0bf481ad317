package import StrictJSON

/// A JSON object of Apple's with known members; `null` counts as absent, unknown members are ignored.
package protocol PayloadObject: Hashable, Sendable {
    /// The decoded members, by Apple's names.
    associatedtype Member: CaseIterable & RawRepresentable<String>

    /// The known members that this version cannot read, at any depth. They count as absent, unless their absence would mean something.
    var odd: [MalformedPayload] { get }

    /// The values that this version does not know, at any depth. A payload without an ``OpenValue`` has none.
    var unknown: [UnknownValue] { get }

    /// Decodes the known members that can be read.
    init(decoding json: JSONObject)
}

extension PayloadObject {
    package var unknown: [UnknownValue] { [] }

    /// Decodes the known members; throws for the first that cannot be read.
    package init(_ json: JSONObject) throws(MalformedPayload) {
        self.init(decoding: json)
        if let first = odd.first { throw first }
    }
}

extension [MalformedPayload] {
    /// The first that is at one of these places, numbers left out.
    package func first(at kinds: Set<String>) -> String? { lazy.map(\.kind).first { kinds.contains($0) } }

    /// The place of the first whose own name, without the objects around it, is one of these.
    package func first(named names: Set<String>) -> String? { first { names.contains($0.member) }?.kind }
}
