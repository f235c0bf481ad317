import OpenSSL

/// A receipt's PKCS #7 before it is encoded; tests can alter each part.
package struct ReceiptEnvelope: Sendable {
    /// Contents of object identifiers.
    package var contentType = ASN1Writer.signedData
    package var encapsulatedType = ASN1Writer.data
    package var digestAlgorithm: [UInt8]
    package var signatureAlgorithm = ASN1Writer.rsaEncryption
    /// Nil leaves it out, as in a detached signature.
    package var content: [UInt8]?
    package var certificates: [[UInt8]]
    /// The issuer and the serial number of the signer's certificate, encoded.
    package var signerIdentifier: [[UInt8]]
    /// The signed attributes, each encoded; the signature covers them instead of the content.
    package var signedAttributes: [[UInt8]]?
    package var signature: [UInt8]
    package var signerCount = 1

    /// A genuine receipt with that content.
    package init(
        signing content: [UInt8],
        with authority: ReceiptAuthority,
        _ generation: ReceiptAuthority.Generation,
        hasSignedAttributes: Bool = false
    ) throws {
        let chain = try authority.chain(generation)
        let digest = generation.digest
        digestAlgorithm = generation == .sha1 ? ASN1Writer.sha1 : ASN1Writer.sha256
        self.content = content
        certificates = [chain.leaf, chain.intermediate, authority.root].map(\.der)
        signerIdentifier = try Self.identifier(ofCertificate: chain.leaf.der)
        if hasSignedAttributes { signedAttributes = Self.attributes(digest: digest.hash(content)) }
        let message = signedAttributes.map { ASN1Writer(encoding: .der).set($0) } ?? content
        signature = try authority.leafKey.signRSA(message, digest: digest)
    }

    /// `contentType` and `messageDigest`, in the order of DER.
    package static func attributes(digest: [UInt8]) -> [[UInt8]] {
        let writer = ASN1Writer(encoding: .der)
        return [
            writer.sequence(
                writer.objectIdentifier(ASN1Writer.contentTypeAttribute),
                writer.set([writer.objectIdentifier(ASN1Writer.data)])
            ),
            writer.sequence(writer.objectIdentifier(ASN1Writer.messageDigestAttribute), writer.set([writer.octetString(digest)])),
        ]
    }

    /// The envelope's bytes.
    package func encoded(_ encoding: ReceiptEncoding = .der) -> [UInt8] {
        let writer = ASN1Writer(encoding: encoding)
        let inner = content.map { writer.context(0, [writer.octetString($0)]) } ?? []
        return writer.sequence(
            writer.objectIdentifier(contentType),
            writer.context(
                0,
                [
                    writer.sequence(
                        writer.integer(1),
                        writer.set([writer.algorithm(digestAlgorithm)]),
                        writer.sequence(writer.objectIdentifier(encapsulatedType), inner),
                        writer.context(0, certificates),
                        writer.set(Array(repeating: signer(writer), count: signerCount))
                    )
                ]
            )
        )
    }

    private func signer(_ writer: ASN1Writer) -> [UInt8] {
        writer.sequence(
            writer.integer(1),
            writer.sequence(Array(signerIdentifier.joined())),
            writer.algorithm(digestAlgorithm),
            signedAttributes.map { writer.context(0, $0) } ?? [],
            writer.algorithm(signatureAlgorithm),
            writer.octetString(signature)
        )
    }

    /// The issuer and the serial number of a version 3 certificate.
    private static func identifier(ofCertificate der: [UInt8]) throws(SimulationError) -> [[UInt8]] {
        var position = 0
        func header() throws(SimulationError) -> Int {
            guard position + 2 <= der.count else { throw SimulationError(.signing, "a certificate is truncated") }
            let count = Int(der[position + 1])
            guard count > 0x80 else {
                position += 2
                return count
            }
            let octets = count - 0x80
            guard octets <= 4, position + 2 + octets <= der.count else { throw SimulationError(.signing, "a certificate is truncated") }
            let length = der[position + 2..<position + 2 + octets].reduce(0) { $0 << 8 | Int($1) }
            position += 2 + octets
            return length
        }
        func element() throws(SimulationError) -> [UInt8] {
            let start = position
            position += try header()
            guard position <= der.count else { throw SimulationError(.signing, "a certificate is truncated") }
            return Array(der[start..<position])
        }
        _ = try header()
        _ = try header()
        _ = try element()
        let serialNumber = try element()
        _ = try element()
        return [try element(), serialNumber]
    }
}

extension ASN1Writer {
    static let data: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01]
    static let signedData: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02]
    static let contentTypeAttribute: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03]
    static let messageDigestAttribute: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04]
    static let sha1: [UInt8] = [0x2b, 0x0e, 0x03, 0x02, 0x1a]
    static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
    static let rsaEncryption: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]

    fileprivate func objectIdentifier(_ content: [UInt8]) -> [UInt8] { primitive(0x06, content) }

    fileprivate func algorithm(_ identifier: [UInt8]) -> [UInt8] { sequence(objectIdentifier(identifier), [0x05, 0x00]) }
}
