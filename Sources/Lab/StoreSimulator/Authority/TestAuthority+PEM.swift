import OpenSSL

extension TestAuthority {
    /// Leaf, intermediate, root and their keys in that order: six PEM blocks, three of them secret.
    var pem: String {
        (chain.map(\.pem) + [leafKey, intermediateKey, rootKey].map(\.pem)).joined()
    }

    /// Parses the text of ``pem``. Throws when the leaf's key does not belong to the leaf.
    init(pem: String) throws {
        let certificates = try Certificate.bundle(pem: Array(pem.utf8))
        let keys = try pem.split(separator: "-----BEGIN ").filter { $0.hasPrefix("PRIVATE KEY") }.map {
            try PrivateKey(pem: "-----BEGIN \($0)")
        }
        guard certificates.count == 3, keys.count == 3 else {
            throw SimulationError(.authorityFolder, "\(certificates.count) certificates and \(keys.count) keys instead of three of each")
        }
        let probe = Array("whose key is this".utf8)
        guard certificates[0].publicKey?.verifyES256(signature: try keys[0].signES256(probe), message: probe[...]) == true else {
            throw SimulationError(.authorityFolder, "the leaf's key does not belong to the leaf")
        }
        self.init(
            root: certificates[2],
            intermediate: certificates[1],
            leaf: certificates[0],
            rootKey: keys[2],
            intermediateKey: keys[1],
            leafKey: keys[0]
        )
    }
}
