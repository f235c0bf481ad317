/// The names an object has had so far: compared one by one while they are few, hashed when they are many.
///
/// Apple's objects have some thirty members, for which comparing is faster; a hostile one may have a hundred thousand.
struct JSONMemberNames {
    private static let comparedLimit = 64
    private var hashed: Set<[UInt8]> = []

    /// Notes the name that follows these members; `false` when one of them has the same bytes.
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
