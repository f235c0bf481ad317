import AppStore
import StrictJSON

/// One JWS of an event, decoded as far as that goes. Nothing vouches for it here: a forgery is shown like anything else.
struct SignedPart {
    /// `signedPayload` for the outermost, else the member that holds it.
    let location: String
    let kind: SignedPayloadKind?
    /// Nil when it cannot be decoded.
    let payload: JSONObject?
    /// Why it cannot be decoded.
    let problem: String?

    /// Where a notification holds others.
    private static let members = [
        ("data", "signedTransactionInfo"), ("data", "signedRenewalInfo"), ("appData", "signedAppTransactionInfo"),
    ]

    /// The JWS and those in it, outermost first.
    static func all(in jws: ArraySlice<UInt8>) -> [SignedPart] {
        let outer = SignedPart(jws, at: "signedPayload")
        return [outer]
            + members.compactMap { parent, member in
                guard case .object(let object)? = outer.payload?[parent], case .string(let nested)? = object[member] else { return nil }
                return SignedPart(Array(nested.utf8)[...], at: "\(parent).\(member)")
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

    /// - Parameter isGenuine: whether a configured root vouches for the signature.
    func json(isGenuine: Bool) -> JSONValue {
        [
            "location": .string(location), "kind": (kind?.rawValue).map(JSONValue.string) ?? .null, "is_genuine": .bool(isGenuine),
            "payload": payload.map(JSONValue.object) ?? .null, "problem": problem.map(JSONValue.string) ?? .null,
        ]
    }
}
