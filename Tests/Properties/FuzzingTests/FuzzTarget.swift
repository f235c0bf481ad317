import AppStore
import AppStoreVerification
import OpenSSL
import StoreSimulator
import StrictJSON

/// One reader of untrusted bytes, and what must hold for any input. An input must neither crash the reader nor keep it busy.
enum FuzzTarget: String, CaseIterable {
    /// Any JSON text.
    case json
    /// A compact JWS, to the verdict.
    case jws
    /// The decoded header of a JWS, to its certificates.
    case header
    /// One certificate in DER.
    case certificate
    /// A receipt in BER, to the verdict.
    case receipt
    /// The content of a receipt.
    case content
    /// A notification of either version, as posted.
    case body

    /// A rule that an input broke.
    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    /// Throws a ``Violation`` if the input breaks a rule.
    func check(_ input: [UInt8]) throws {
        switch self {
        case .json: try Self.checkJSON(input)
        case .jws: try Self.checkJWS(input)
        case .header: try Self.checkHeader(input)
        case .certificate: try Self.checkCertificate(input)
        case .receipt: try Self.checkReceipt(input)
        case .content: try Self.checkContent(input)
        case .body: try Self.checkBody(input)
        }
    }

    /// The value that `read` returns; nil if it refuses the input.
    private static func accepted<Value>(_ read: () throws -> Value) -> Value? {
        do {
            return try read()
        } catch {
            return nil
        }
    }

    private static func expect(_ condition: Bool, _ rule: String) throws {
        if !condition { throw Violation(description: rule) }
    }
}

extension FuzzTarget {
    private static func checkJSON(_ text: [UInt8]) throws {
        let parser = JSONParser()
        let parsed: JSONValue
        do throws(JSONSyntaxError) {
            parsed = try parser.parse(text)
        } catch {
            let isRepeated = error.code == .duplicateMember
            try expect(isRepeated || !isSkipped(text, depth: parser.maximumDepth), "what cannot be parsed cannot be skipped")
            return
        }
        try expect(isSkipped(text, depth: parser.maximumDepth), "what is parsed can be skipped")
        let serialized = JSONSerializer.serialize(parsed)
        let again = try parser.parse(serialized)
        // Bytes too: strings are equal when they are only canonically equivalent.
        try expect(again == parsed && JSONSerializer.serialize(again) == serialized, "a value survives writing and parsing")
        _ = JSONParser.containsNUL(in: text)
    }

    private static func isSkipped(_ text: [UInt8], depth: Int) -> Bool {
        text.withUnsafeBufferPointer { (bytes) -> Bool in
            var scanner = JSONScanner(bytes)
            do {
                try scanner.skipValue(remainingDepth: depth)
                try scanner.expectEnd()
                return true
            } catch {
                return false
            }
        }
    }

    private static func checkJWS(_ text: [UInt8]) throws {
        let verdict = verifier.verifyAny(text[...], receivedAt: now)
        guard let jws = accepted({ try CompactJWS(text) }) else {
            if case .valid = verdict { throw Violation(description: "a valid JWS has three parts") }
            return
        }
        let dot = [UInt8(ascii: ".")]
        try expect(
            jws.headerSegment + dot + Base64URL.encode(jws.payload) + dot + Base64URL.encode(jws.signature) == text,
            "each part has one text"
        )
        try expect(CompactJWS.hasShape(String(decoding: text, as: UTF8.self)) || accepted { try jws.decodeHeader() } == nil, "shape")
    }

    private static func checkHeader(_ json: [UInt8]) throws {
        guard let header = accepted({ try JOSEHeader(json) }) else { return }
        for certificate in header.x5c.prefix(3) { try checkCertificate(certificate) }
    }

    private static func checkCertificate(_ der: [UInt8]) throws {
        // libcrypto sees only what passes, as in the program.
        guard accepted({ try CertificateForm.check(der) }) != nil, let certificate = accepted({ try Certificate(der: der) }) else { return }
        try expect(certificate.der == der, "a certificate is DER")
        guard let key = certificate.publicKey else { return }
        try expect((key.rsaBitCount ?? 0) <= CertificateForm.maximumRSABitCount, "libcrypto finds the key that was checked")
    }

    private static func checkReceipt(_ input: [UInt8]) throws {
        let verdict = receiptVerifier.verify(input[...], receivedAt: now)
        guard case .appReceipt(let encoding) = ReceiptInput(input[...]) else { return }
        let signed = accepted { try SignedReceipt(encoding[...]) }
        if case .valid = verdict { try expect(signed != nil, "a valid receipt is a SignedData") }
        guard let signed else { return }
        try expect(signed.content.count < encoding.count, "the content is a part of the encoding")
        for certificate in signed.certificates { try checkCertificate(certificate) }
    }

    private static func checkContent(_ content: [UInt8]) throws {
        guard let receipt = accepted({ try AppReceipt(content: content) }) else { return }
        try expect(accepted { try AppReceipt.creationDate(inContent: content) } == receipt.creationDate, "the first date counts")
        // A second attribute of a known type is among the others, and would be written in another order.
        let others = receipt.otherAttributes.map(\.type) + receipt.purchases.flatMap { $0.otherAttributes.map(\.type) }
        guard others.allSatisfy({ !(0...21).contains($0) && !(1701...1721).contains($0) }) else { return }
        let again = try AppReceipt(content: receipt.encoded)
        // What follows the text in the bundle id's attribute is not written.
        try expect(again.bundleID == receipt.bundleID && again.purchases == receipt.purchases, "a receipt survives writing and reading")
        try expect(try AppReceipt(content: again.encoded) == again, "a receipt that was written survives as a whole")
    }

    private static func checkBody(_ body: [UInt8]) throws {
        if let jws = accepted({ try NotificationBody.signedPayload(in: body) }) {
            try expect(CompactJWS.hasShape(String(decoding: jws, as: UTF8.self)), "a JWS has the shape of one")
        }
        guard let read = accepted({ try NotificationV1Body(body) }) else { return }
        let kept = try NotificationV1Body(read.bytes)
        try expect(kept.bytes == read.bytes && kept.secrets.allSatisfy(\.isEmpty), "no secret is kept")
        try expect(kept.kind == read.kind && kept.bundleID == read.bundleID, "nothing else is removed")
        try expect(kept.passwordCount == read.passwordCount, "the member stays")
        guard let json = accepted({ try JSONParser().parseObject(read.bytes) }) else { return }
        if let notification = accepted({ try ResponseBodyV1(json) }) { _ = notification.originalTransactionIDs }
        _ = accepted { try VerifyReceiptResponse(json) }
    }

    private static let now = Timestamp(millisecondsSince1970: 1_800_000_000_000)
    private static let verifier = Verifier(policy: VerificationPolicy(apps: nil, environments: nil))
    private static let receiptVerifier = ReceiptVerifier(policy: VerificationPolicy(apps: nil, environments: nil, roots: [.appleRootCA]))
}
