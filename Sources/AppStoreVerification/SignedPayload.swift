internal import AppStore
import StrictJSON

/// A payload whose signature is not verified.
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
        guard case .number(let number)? = object[member], let date = Timestamp(number) else {
            var flaw = Flaw(.signedDateMissing, member)
            flaw.genuine = GenuineContent(object, kind)
            throw flaw
        }
        signedDate = date
    }

    /// What a payload that cannot be read is refused for, when its signature is valid.
    static func flaw(ofGenuine flaw: Flaw) -> Flaw {
        var genuine = flaw
        genuine.isUnreadable = true
        genuine.genuine = flaw.genuine ?? .other
        if flaw.reason == .signedDateMissing, let place = genuine.genuine?.odd.first(where: isSigningDate) {
            genuine.reason = .unreadableMember
            genuine.detail = place
        }
        return genuine
    }

    private static func isSigningDate(_ place: String) -> Bool {
        ["signedDate", "transaction.signedDate", "renewalInfo.signedDate", "appTransaction.receiptCreationDate"].contains(place)
    }

    /// The signedDate in seconds since 1970, the unit of certificates.
    var second: Int64 { signedDate.millisecondsSince1970 / 1000 }
}

/// A payload whose signature is verified, not yet decoded.
struct SignedPayload {
    let object: JSONObject
    /// Nil when the members determine none of the four kinds.
    let kind: SignedPayloadKind?
    let signedDate: Timestamp
    let bytes: [UInt8]
    let chain: SigningChain

    init(_ payload: UnverifiedPayload, bytes: [UInt8], chain: SigningChain) {
        object = payload.object
        kind = payload.kind
        signedDate = payload.signedDate
        self.bytes = bytes
        self.chain = chain
    }

    /// Decodes the payload as the expected kind. The check is needed because one leaf signs all kinds.
    func decode<Content: SignedContent>(
        as type: Content.Type,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Flaw) -> SignedValue<Content> {
        try diagnostics.check(.kind) { () throws(Flaw) in try decode(as: type) }
    }

    private func decode<Content: SignedContent>(as type: Content.Type) throws(Flaw) -> SignedValue<Content> {
        guard kind == Content.kind else { throw wrongKind("\(kind?.rawValue ?? "unknown") instead of \(Content.kind.rawValue)") }
        let value = Content(decoding: object)
        return SignedValue(
            value: value,
            payloadBytes: bytes,
            signedDate: signedDate,
            odd: value.oddMembers,
            unknown: value.unknownValues
        )
    }

    /// Another kind is not wanted here. One that this version does not know may be what a later version reads.
    func wrongKind(_ detail: String) -> Flaw {
        var flaw = Flaw(.wrongKind, detail)
        flaw.isUnreadable = kind == nil
        flaw.genuine = GenuineContent(object, kind)
        return flaw
    }
}
