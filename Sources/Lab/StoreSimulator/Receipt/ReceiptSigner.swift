package import AppStore

/// Signs receipts as the App Store does: PKCS #7, RSA over the content itself, with leaf, intermediate and root beside it.
package struct ReceiptSigner: Sendable {
    package let authority: ReceiptAuthority
    package var generation: ReceiptAuthority.Generation
    package var encoding: ReceiptEncoding
    /// Whether attributes are signed instead of the content, which PKCS #7 allows and Apple never did.
    package var hasSignedAttributes = false

    package init(
        authority: ReceiptAuthority,
        generation: ReceiptAuthority.Generation = .sha256,
        encoding: ReceiptEncoding = .der
    ) {
        self.authority = authority
        self.generation = generation
        self.encoding = encoding
    }

    /// The receipt as a device holds it.
    package func sign(_ receipt: AppReceipt) throws(SimulationError) -> [UInt8] { try sign(content: receipt.encoded) }

    /// The receipt in base64, as clients send it.
    package func base64(_ receipt: AppReceipt) throws(SimulationError) -> String { Base64.encode(try sign(receipt)) }

    /// An envelope with any content.
    package func sign(content: [UInt8]) throws(SimulationError) -> [UInt8] {
        do {
            let envelope = try ReceiptEnvelope(signing: content, with: authority, generation, hasSignedAttributes: hasSignedAttributes)
            return envelope.encoded(encoding)
        } catch {
            throw SimulationError(.signing, "the receipt cannot be signed", cause: error)
        }
    }
}
