/// The digests of the schema's objects, in the form of `sql/fingerprint.txt`: `PostgreSQL 15`, then lines of a digest, a space and an object.
struct SchemaFingerprint: CustomStringConvertible {
    /// The major version of PostgreSQL that printed the definitions.
    let major: Int
    let digests: [String: String]

    init(major: Int, digests: [String: String]) {
        self.major = major
        self.digests = digests
    }

    /// Nil for text of another form.
    init?(_ text: String) {
        var lines = text.split(separator: "\n")[...]
        guard let major = lines.popFirst()?.split(separator: " ").last.flatMap({ Int($0) }) else { return nil }
        var digests: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            digests[String(parts[1])] = String(parts[0])
        }
        self.init(major: major, digests: digests)
    }

    var description: String {
        (["PostgreSQL \(major)"] + digests.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }).joined(separator: "\n") + "\n"
    }

    /// What a migration leaves: of objects that it has changed the new digest, of all others the known one, so that a change by hand stays a
    /// difference.
    ///
    /// - Parameter before: the fingerprint at the beginning of the migration.
    func following(_ before: SchemaFingerprint, known: SchemaFingerprint) -> SchemaFingerprint {
        let objects = Set(digests.keys).union(known.digests.keys)
        let left = objects.map { object in
            (object, digests[object] == before.digests[object] ? known.digests[object] : digests[object])
        }
        return SchemaFingerprint(
            major: major,
            digests: Dictionary(uniqueKeysWithValues: left.compactMap { object, digest in digest.map { (object, $0) } })
        )
    }
}
