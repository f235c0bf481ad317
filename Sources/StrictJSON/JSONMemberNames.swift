/// Detects repeated member names in an object: by comparison up to 64 members, by hash above.
///
/// Apple's objects have about thirty members, and comparison is faster for them. A hostile object may have a hundred thousand.
struct JSONMemberNames {
    private static let comparedLimit = 64
    private var hashed: Set<[UInt8]> = []

    /// Records the name that follows these members; `false` when one of them has the same bytes.
    mutating func insert(_ name: String, after members: [JSONObject.Member]) -> Bool {
        if members.count < Self.comparedLimit {
            let length = name.utf8.count
            return !members.contains { $0.name.utf8.count == length && $0.name == name && $0.name.utf8.elementsEqual(name.utf8) }
        }
        if members.count == Self.comparedLimit {
            hashed = Set(members.map { Array($0.name.utf8) })
        }
        return hashed.insert(Array(name.utf8)).inserted
    }
}
