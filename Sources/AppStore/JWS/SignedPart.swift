package import StrictJSON

/// One JWS of a body, decoded as far as that goes. Nothing vouches for it here: a forgery is shown like anything else.
package struct SignedPart {
    /// `signedPayload` for the outermost, else the path of the member that holds it, such as `data.signedTransactionInfo`.
    package let location: String
    package let kind: SignedPayloadKind?
    /// Nil when it cannot be decoded.
    package let payload: JSONObject?
    /// Why it cannot be decoded.
    package let problem: String?

    /// The JWS and those in it, outermost first.
    package static func all(in jws: ArraySlice<UInt8>) -> [SignedPart] {
        let outer = SignedPart(jws, at: "signedPayload")
        return [outer] + (outer.payload.map { all(in: $0) } ?? [])
    }

    /// Each JWS in a payload, and those in it.
    ///
    /// - Parameter path: of the payload, with a dot at its end.
    package static func all(in payload: JSONObject, at path: String = "") -> [SignedPart] {
        payload.members.flatMap { all(in: $0.value, at: path + $0.name) }
    }

    private static func all(in value: JSONValue, at path: String) -> [SignedPart] {
        switch value {
        case .object(let object): return all(in: object, at: path + ".")
        case .array(let elements): return elements.enumerated().flatMap { all(in: $1, at: "\(path)[\($0)]") }
        case .string(let text) where text.isJWS:
            let part = SignedPart(Array(text.utf8)[...], at: path)
            return [part] + (part.payload.map { all(in: $0, at: path + ".") } ?? [])
        case .string, .number, .bool, .null: return []
        }
    }

    private init(_ jws: ArraySlice<UInt8>, at location: String) {
        self.location = location
        do {
            let object = try JSONParser().parseObject(try CompactJWS(jws).payload)
            payload = object
            kind = SignedPayloadKind.of(object)
            problem = nil
        } catch {
            payload = nil
            kind = nil
            problem = "\(error)"
        }
    }
}

extension String {
    /// Whether it is taken for a JWS where text of any kind may stand; a short one, such as a version with two dots, is not.
    package var isJWS: Bool { utf8.count > 100 && CompactJWS.hasShape(self) }
}
