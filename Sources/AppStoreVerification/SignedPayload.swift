internal import AppStore
internal import OpenSSL

/// What a payload says about itself, before anything vouches for it.
struct UnverifiedPayload {
    let object: JSONObject
    let kind: SignedPayloadKind?
    let signedDate: Timestamp

    init(_ bytes: [UInt8]) throws(Flaw) {
        do {
            object = try JSONParser().parseObject(bytes)
        } catch {
            throw Flaw(.payloadNotJSON, "\(error)")
        }
        kind = SignedPayloadKind.of(object)
        let member = kind == .appTransaction ? "receiptCreationDate" : "signedDate"
        guard case .number(let number)? = object[member], let date = Timestamp(number) else { throw Flaw(.signedDateMissing, member) }
        signedDate = date
    }

    /// The signedDate as certificates count: whole seconds since 1970.
    var second: Int64 { signedDate.millisecondsSince1970 / 1000 }
}

/// A payload whose signature is genuine, not yet decoded.
struct SignedPayload {
    let object: JSONObject
    /// Nil for none of the four.
    let kind: SignedPayloadKind?
    let signedDate: Timestamp
    let bytes: [UInt8]
    /// The root that vouches for it.
    let anchor: Certificate

    init(_ payload: UnverifiedPayload, bytes: [UInt8], anchor: Certificate) {
        object = payload.object
        kind = payload.kind
        signedDate = payload.signedDate
        self.bytes = bytes
        self.anchor = anchor
    }

    /// The payload as the kind that belongs here: one leaf signs all kinds, so that the signature does not tell.
    func decode<Content: SignedContent>(as type: Content.Type) throws(Flaw) -> SignedValue<Content> {
        guard kind == Content.kind else { throw Flaw(.wrongKind, "\(kind?.rawValue ?? "unknown") instead of \(Content.kind.rawValue)") }
        do {
            return SignedValue(value: try Content(object), payloadBytes: bytes, signedDate: signedDate)
        } catch {
            throw Flaw(.payloadMalformed, "\(error)")
        }
    }
}
