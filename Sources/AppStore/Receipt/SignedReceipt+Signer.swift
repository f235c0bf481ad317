extension SignedReceipt.Signer {
    /// Reads a SignerInfo (RFC 5652 §5.3).
    init(reading reader: BERReader) throws {
        var info = reader
        _ = try info.readInteger()
        var identifier = try info.enter(.sequence)
        _ = try identifier.next(.sequence)
        serialNumber = Array(identifier.bytes[try identifier.next(.integer).content])
        digest = try Self.digest(in: info.enter(.sequence))
        signedAttributes = try info.nextIf(.context(0)).map { try SignedReceipt.SignedAttributes(reading: $0, in: info) }
        try Self.checkAlgorithm(in: info.enter(.sequence), digest: digest)
        signature = try info.readOctets()
        // Unsigned attributes.
        _ = try info.nextIf(.context(1))
        try info.expectEnd()
    }

    private static func digest(in reader: BERReader) throws -> SignedReceipt.Digest {
        var algorithm = reader
        switch try algorithm.readObjectIdentifier() {
        case ObjectIdentifier.sha1: return .sha1
        case ObjectIdentifier.sha256: return .sha256
        default: throw SignedReceipt.Malformed(.digest)
        }
    }

    /// `rsaEncryption` names no digest; the other identifiers name one, which must equal `digest`.
    private static func checkAlgorithm(in reader: BERReader, digest: SignedReceipt.Digest) throws {
        var algorithm = reader
        switch (try algorithm.readObjectIdentifier(), digest) {
        case (ObjectIdentifier.rsaEncryption, _), (ObjectIdentifier.sha1WithRSA, .sha1), (ObjectIdentifier.sha256WithRSA, .sha256): break
        default: throw SignedReceipt.Malformed(.signatureAlgorithm)
        }
    }
}

extension SignedReceipt.SignedAttributes {
    init(reading element: BERElement, in reader: BERReader) throws {
        let body = reader.bytes[element.content]
        encoding = Self.header(ofSetWithLength: body.count) + body
        var attributes = reader.reader(in: element)
        var digests: [[UInt8]] = []
        while !attributes.isAtEnd {
            var attribute = try attributes.enter(.sequence)
            let type = try attribute.readObjectIdentifier()
            var values = try attribute.enter(.set)
            switch type {
            case ObjectIdentifier.messageDigest:
                digests.append(try values.readOctets())
                try values.expectEnd()
            case ObjectIdentifier.contentType:
                guard try values.readObjectIdentifier() == ObjectIdentifier.data else {
                    throw SignedReceipt.Malformed(.signedAttributes)
                }
            default: break
            }
        }
        guard let digest = digests.first, digests.count == 1 else { throw SignedReceipt.Malformed(.signedAttributes) }
        messageDigest = digest
    }

    /// The signed encoding has the tag of a SET, not the `[0]` of the message, and a definite length.
    private static func header(ofSetWithLength count: Int) -> [UInt8] {
        guard count > 127 else { return [0x31, UInt8(count)] }
        let length = withUnsafeBytes(of: count.bigEndian) { Array($0.drop { $0 == 0 }) }
        return [0x31, 0x80 | UInt8(length.count)] + length
    }
}

/// The encoded object identifiers of signed receipts and of certificates' keys.
enum ObjectIdentifier {
    /// 1.2.840.10045.2.1
    static let ecPublicKey: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
    /// 1.2.840.10045.3.1.7
    static let p256: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    /// 1.3.132.0.34
    static let p384: [UInt8] = [0x2b, 0x81, 0x04, 0x00, 0x22]
    /// 1.2.840.113549.1.7.1
    static let data: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01]
    /// 1.2.840.113549.1.7.2
    static let signedData: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02]
    /// 1.2.840.113549.1.9.3
    static let contentType: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03]
    /// 1.2.840.113549.1.9.4
    static let messageDigest: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04]
    /// 1.3.14.3.2.26
    static let sha1: [UInt8] = [0x2b, 0x0e, 0x03, 0x02, 0x1a]
    /// 2.16.840.1.101.3.4.2.1
    static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
    /// 1.2.840.113549.1.1.1
    static let rsaEncryption: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]
    /// 1.2.840.113549.1.1.5
    static let sha1WithRSA: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05]
    /// 1.2.840.113549.1.1.11
    static let sha256WithRSA: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b]
}

extension BERReader {
    /// Reads an object identifier and returns its content.
    mutating func readObjectIdentifier() throws(ASN1Error) -> [UInt8] { Array(bytes[try next(.objectIdentifier).content]) }
}
