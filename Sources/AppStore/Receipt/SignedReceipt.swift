/// A decoded app receipt, a PKCS #7 SignedData (RFC 2315 §9, RFC 5652 §5); untrusted until verified.
///
/// It does not use libcrypto's `d2i_PKCS7` and `PKCS7_verify`. They choose the signer, the chain policy and the digests, decode every
/// certificate first, and read BER by other rules than the reader of the content. Here one bounded reader decodes envelope and content, and
/// libcrypto receives only single certificates, a chain and one RSA signature.
package struct SignedReceipt: Sendable {
    /// The signed bytes: the encoding of the ``AppReceipt``.
    package let content: [UInt8]
    /// The included certificates in DER, in order; none is trusted for being included.
    package let certificates: [[UInt8]]
    package let signer: Signer

    /// The signer and its signature.
    package struct Signer: Sendable {
        /// The serial number of the signer's certificate, as the content of the INTEGER.
        package let serialNumber: [UInt8]
        package let digest: Digest
        package let signature: [UInt8]
        /// The signed attributes; nil when the signature is over the content itself.
        package let signedAttributes: SignedAttributes?
    }

    /// Attributes that are signed instead of the content and contain its digest.
    package struct SignedAttributes: Sendable {
        /// The signed bytes: the attributes as a SET in DER (RFC 5652 §5.4).
        package let encoding: [UInt8]
        package let messageDigest: [UInt8]
    }

    /// The digests of receipt signatures: SHA-1 until 2023 (in older apps until 2025), then SHA-256.
    package enum Digest: String, Sendable, CaseIterable {
        case sha1 = "SHA-1"
        case sha256 = "SHA-256"
    }

    /// Why bytes are not a signed receipt.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package enum Code: String, CaseIterable, Sendable {
            /// Not the expected ASN.1; see `cause`.
            case encoding
            /// PKCS #7 of another type than SignedData.
            case notSignedData = "not_signed_data"
            /// The content is absent or of another type than data.
            case contentMissing = "content_missing"
            /// More than ``maximumCertificates`` certificates.
            case certificateCount = "certificate_count"
            /// No signer, or more than one.
            case signerCount = "signer_count"
            /// A digest that is neither SHA-1 nor SHA-256.
            case digest
            /// A signature that is not RSA with PKCS #1 v1.5, or that names another digest than the signer.
            case signatureAlgorithm = "signature_algorithm"
            /// Signed attributes without exactly one message digest, or for another type of content.
            case signedAttributes = "signed_attributes"
        }

        package let code: Code
        package let cause: ASN1Error?

        package init(_ code: Code, cause: ASN1Error? = nil) {
            self.code = code
            self.cause = cause
        }

        package var description: String { cause.map { "\($0)" } ?? "PKCS #7: \(code.rawValue)" }
    }
}

extension SignedReceipt {
    /// Apple's receipts have three, those of Xcode one.
    private static let maximumCertificates = 4

    /// Decodes a ContentInfo in BER or DER; refuses trailing bytes. Memory is bounded by the size of the encoding.
    package init(_ encoding: ArraySlice<UInt8>) throws(Malformed) {
        self = try encoding.withUnsafeBufferPointer { bytes throws(Malformed) in
            do {
                return try SignedReceipt(reading: BERReader(bytes))
            } catch let error as Malformed {
                throw error
            } catch let error as ASN1Error {
                throw Malformed(.encoding, cause: error)
            } catch {
                throw Malformed(.encoding)
            }
        }
    }

    private init(reading whole: BERReader) throws {
        var outermost = whole
        var contentInfo = try outermost.enter(.sequence)
        guard try contentInfo.readObjectIdentifier() == ObjectIdentifier.signedData else { throw Malformed(.notSignedData) }
        var explicit = try contentInfo.enter(.context(0))
        var signedData = try explicit.enter(.sequence)
        try explicit.expectEnd()
        try contentInfo.expectEnd()
        try outermost.expectEnd()

        _ = try signedData.readInteger()
        // The set of digests only allows one-pass hashing; the signer names the digest that applies.
        _ = try signedData.next(.set)
        content = try Self.content(in: signedData.enter(.sequence))
        certificates = try Self.certificates(in: &signedData)
        // Revocation lists.
        _ = try signedData.nextIf(.context(1))
        var signers = try signedData.enter(.set)
        try signedData.expectEnd()
        guard !signers.isAtEnd else { throw Malformed(.signerCount) }
        signer = try Signer(reading: signers.enter(.sequence))
        guard signers.isAtEnd else { throw Malformed(.signerCount) }
    }

    private static func content(in reader: BERReader) throws -> [UInt8] {
        var encapsulated = reader
        guard try encapsulated.readObjectIdentifier() == ObjectIdentifier.data, !encapsulated.isAtEnd else {
            throw Malformed(.contentMissing)
        }
        var explicit = try encapsulated.enter(.context(0))
        let content = try explicit.readOctets()
        try explicit.expectEnd()
        try encapsulated.expectEnd()
        return content
    }

    private static func certificates(in signedData: inout BERReader) throws -> [[UInt8]] {
        guard let bag = try signedData.nextIf(.context(0)) else { return [] }
        var elements = signedData.reader(in: bag)
        var certificates: [[UInt8]] = []
        while !elements.isAtEnd {
            let element = try elements.next()
            // The other choices are not X.509 certificates.
            guard element.tag == .sequence else { continue }
            guard certificates.count < maximumCertificates else { throw Malformed(.certificateCount) }
            certificates.append(Array(elements.bytes[element.offset..<element.end]))
        }
        return certificates
    }

    /// The indexes of the certificates with the signer's serial number, in order.
    ///
    /// Issuers are not compared: verifying the signature proves the key, and validating the chain proves the issuer.
    package var signerCertificateIndexes: [Int] {
        certificates.indices.filter { Self.serialNumber(ofCertificate: certificates[$0]) == signer.serialNumber }
    }

    private static func serialNumber(ofCertificate der: [UInt8]) -> [UInt8]? {
        der.withUnsafeBufferPointer { bytes in
            var reader = BERReader(bytes)
            do throws(ASN1Error) {
                var certificate = try reader.enter(.sequence)
                var body = try certificate.enter(.sequence)
                _ = try body.nextIf(.context(0))
                return Array(bytes[try body.next(.integer).content])
            } catch {
                // An unreadable certificate cannot be the signer's.
                return nil
            }
        }
    }
}

extension SignedReceipt.Signer {
    /// Reads a SignerInfo (RFC 5652 §5.3).
    fileprivate init(reading reader: BERReader) throws {
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
    fileprivate init(reading element: BERElement, in reader: BERReader) throws {
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
