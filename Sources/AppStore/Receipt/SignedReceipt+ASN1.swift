extension SignedReceipt {
    /// Apple's receipts have three, those of Xcode one.
    static let maximumCertificates = 4

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
