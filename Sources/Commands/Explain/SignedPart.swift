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

    /// The payload for people: what is shown as a part of its own stands there by its place only.
    var abridged: JSONObject? {
        guard var payload else { return nil }
        for (parent, member) in Self.members {
            guard case .object(var object)? = payload[parent], case .string? = object[member] else { continue }
            object[member] = .string("(see \(parent).\(member))")
            payload[parent] = .object(object)
        }
        return payload
    }
}
