import OpenSSL

extension ReceiptAuthority {
    /// The root, both chains and the three keys: a secret.
    package var pem: String {
        let certificates = [root] + Generation.allCases.compactMap { chains[$0] }.flatMap { [$0.leaf, $0.intermediate] }
        return (certificates.map(\.pem) + [rootKey, intermediateKey, leafKey].map(\.pem)).joined()
    }

    /// Parses the text of ``pem``.
    package init(pem: String) throws {
        let certificates = try Certificate.bundle(pem: Array(pem.utf8))
        let keys = try pem.split(separator: "-----BEGIN ").filter { $0.hasPrefix("PRIVATE KEY") }.map {
            try PrivateKey(pem: "-----BEGIN \($0)")
        }
        guard certificates.count == 5, keys.count == 3 else {
            throw SimulationError(.authorityFolder, "\(certificates.count) certificates and \(keys.count) keys instead of five and three")
        }
        root = certificates[0]
        chains = [
            .sha1: Chain(leaf: certificates[1], intermediate: certificates[2]),
            .sha256: Chain(leaf: certificates[3], intermediate: certificates[4]),
        ]
        (rootKey, intermediateKey, leafKey) = (keys[0], keys[1], keys[2])
    }
}
