/// Describes how two versions of the ledger differ.
package enum LedgerDifference {
    /// One text for each of the first differing rows; empty for equal ledgers.
    package static func between(expected: [String], found: [String], atMost limit: Int = 12) -> [String] {
        guard expected.sorted() != found.sorted() else { return [] }
        let (expectedSet, foundSet) = (Set(expected), Set(found))
        let missing = rows(expectedSet.subtracting(foundSet))
        let surplus = rows(foundSet.subtracting(expectedSet))
        guard !missing.isEmpty || !surplus.isEmpty else { return ["a row is there more than once"] }
        let keys = Set(missing.keys).union(surplus.keys).sorted()
        let texts = keys.prefix(limit).map { describe($0, missing[$0], surplus[$0]) }
        return keys.count > limit ? texts + ["… and \(keys.count - limit) more rows"] : texts
    }

    private static func rows(_ lines: Set<String>) -> [String: String] {
        Dictionary(lines.map { (String(LedgerLine.key(of: $0)), $0) }) { one, _ in one }
    }

    private static func describe(_ key: String, _ expected: String?, _ found: String?) -> String {
        guard let expected else { return "not expected: \(found ?? key)" }
        guard let found else { return "missing: \(expected)" }
        let (wanted, had) = (fields(expected), fields(found))
        let differing = Set(wanted.keys).union(had.keys).filter { wanted[$0] != had[$0] }.sorted()
        let words = differing.map { "\($0) is \(had[$0] ?? "nothing"), not \(wanted[$0] ?? "nothing")" }
        // The contract names the history.
        let contract = wanted["original_transaction_id"].map { " of \($0)" } ?? ""
        return "\(key)\(contract): \(words.joined(separator: "; "))"
    }

    private static func fields(_ line: String) -> [Substring: Substring] {
        let parts = line.split(separator: " | ").dropFirst().map {
            $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        }
        return Dictionary(parts.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { one, _ in one }
    }
}
