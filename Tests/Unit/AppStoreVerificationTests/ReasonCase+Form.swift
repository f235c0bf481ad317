import AppStore
import StrictJSON

@testable import AppStoreVerification

extension ReasonCase {
    /// A malformed JWS or an invalid signature.
    static let form: [ReasonCase] = [
        .form(.malformedParts, "two parts") { try $0.sign(Payloads.notification()).components(2) },
        .form(.malformedParts, "an empty part") { try $0.sign(Payloads.notification()).replacing(part: 2) { _ in "" } },
        .form(.malformedParts, "empty") { _ in "" },
        .form(.payloadNotBase64URL, "padding") { try $0.sign(Payloads.notification()).replacing(part: 1) { $0 + "=" } },
        .form(.signatureNotBase64URL, "the standard alphabet") {
            try $0.sign(Payloads.notification()).replacing(part: 2) { "+/" + $0.dropFirst(2) }
        },
        .form(.signatureNotBase64URL, "non-zero trailing bits") {
            try $0.sign(Payloads.notification()).replacing(part: 2) { $0.dropLast() + "B" }
        },
        .form(.headerNotBase64URL, "a space") { try $0.sign(Payloads.notification()).replacing(part: 0) { $0.dropLast() + " " } },
        .form(.headerNotJSON, "an array") { try $0.sign(JSONSerializer.serialize(Payloads.notification()), headerBytes: Array("[]".utf8)) },
        .form(.headerNotJSON, "a repeated member") {
            let header = String(decoding: JSONSerializer.serialize($0.header), as: UTF8.self)
            let doubled = #"{"alg":"none","# + header.dropFirst()
            return try $0.sign(JSONSerializer.serialize(Payloads.notification()), headerBytes: Array(doubled.utf8))
        },
        .header(.headerNotSupported, "crit") { $0.with("crit", ["exp"]) },
        .header(.headerNotSupported, "b64") { $0.with("b64", false) },
        .header(.headerNotSupported, "zip") { $0.with("zip", "DEF") },
        .header(.algorithmMissing) { $0.with("alg", nil) },
        .header(.algorithmNotES256, "none") { $0.with("alg", "none") },
        .header(.algorithmNotES256, "another case") { $0.with("alg", "es256") },
        .header(.algorithmNotES256, "HMAC") { $0.with("alg", "HS256") },
        .header(.x5cMissing) { $0.with("x5c", nil) },
        .header(.x5cMissing, "a jwk instead is ignored") { $0.with("x5c", nil).with("jwk", ["kty": "EC"]) },
        .header(.x5cMissing, "numbers") { $0.with("x5c", [1, 2, 3]) },
        .header(.x5cNotBase64, "line feed") { $0.changingCertificate(0) { $0 + "\n" } },
        .header(.x5cCount, "none") { $0.with("x5c", []) },
        .form(.x5cCount, "two") { try $0.sign(Payloads.notification(), header: $0.header(of: [$0.leaf, $0.intermediate])) },
        .form(.x5cCount, "four") {
            try $0.sign(Payloads.notification(), header: $0.header(of: [$0.leaf, $0.intermediate, $0.root, $0.root]))
        },
        .header(.certificateMalformed, "leaf") { $0.changingCertificate(0) { _ in "MAA=" } },
        .header(.certificateMalformed, "the third, which is ignored") { $0.changingCertificate(2) { _ in "MAA=" } },
        .header(.certificateMalformed, "larger than the limit") {
            let key = HandmadeCertificate.rsaKey(HandmadeCertificate.modulus(bitCount: 2048), [3])
            let certificate = HandmadeCertificate(key: key, paddingByteCount: CertificateForm.maximumByteCount)
            return $0.changingCertificate(1) { _ in Base64.encode(certificate.der) }
        },
        .header(.certificateKeyUnsupported, "a curve of its own") {
            $0.changingCertificate(0) { _ in Base64.encode(HandmadeCertificate(key: HandmadeCertificate.ownCurve).der) }
        },
        .header(.certificateKeyUnsupported, "in the third, which is ignored") {
            $0.changingCertificate(2) { _ in Base64.encode(HandmadeCertificate(key: HandmadeCertificate.ownCurve).der) }
        },
        .trailing(0), .trailing(1), .trailing(2),
        .form(.payloadNotJSON) { try $0.sign(Array("hello".utf8)) },
        .form(.payloadNotJSON, "an array") { try $0.sign(Array("[]".utf8)) },
        .content(.signedDateMissing) { _ in Payloads.notification().with("signedDate", nil) },
        .content(.signedDateMissing, "the signedDate of an app transaction is ignored") { _ in
            Payloads.appTransaction.with("receiptCreationDate", nil).with("signedDate", .timestamp(TestStore.now))
        },
        .form(.signatureMalformed, "DER") { try $0.sign(Payloads.notification()).replacing(part: 2) { _ in "MEQCIA" } },
        .form(.signatureMalformed, "zero") {
            try $0.sign(Payloads.notification()).replacing(part: 2) { _ in String(repeating: "A", count: 86) }
        },
        .form(.signatureInvalid, "another payload") {
            let other = try $0.sign(Payloads.notification().with("notificationType", "REFUND"))
            return try $0.sign(Payloads.notification()).replacing(part: 1) { _ in other.part(1) }
        },
        .form(.signatureInvalid, "another key below the genuine certificates") {
            try TestStore().sign(Payloads.notification(), header: $0.header)
        },
    ]

    private static func header(_ reason: VerificationReason, _ what: String = "", change: @escaping @Sendable (JSONObject) -> JSONObject)
        -> Self
    {
        .form(reason, what) { try $0.sign(Payloads.notification(), header: change($0.header)) }
    }

    private static func trailing(_ index: Int) -> Self {
        .header(.certificateTrailingBytes, "x5c[\(index)]") { header in
            header.changingCertificate(index) { Base64.encode((Base64.decode($0) ?? []) + [0]) }
        }
    }
}

extension JSONObject {
    fileprivate func changingCertificate(_ index: Int, _ change: (String) -> String) -> JSONObject {
        guard case .array(var entries)? = self["x5c"], case .string(let text) = entries[index] else { return self }
        entries[index] = .string(change(text))
        return with("x5c", .array(entries))
    }
}

extension String {
    /// A part of a compact JWS.
    func part(_ index: Int) -> String {
        String(split(separator: ".", omittingEmptySubsequences: false)[index])
    }

    /// The first parts of a compact JWS.
    fileprivate func components(_ count: Int) -> String {
        (0..<count).map(part).joined(separator: ".")
    }

    /// This compact JWS with one part replaced; the signature is unchanged.
    func replacing(part index: Int, _ change: (String) throws -> String) rethrows -> String {
        try (0..<3).map { try $0 == index ? change(part($0)) : part($0) }.joined(separator: ".")
    }
}
