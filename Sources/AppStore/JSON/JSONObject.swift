/// A JSON object whose members keep their order; a name occurs at most once.
package struct JSONObject: Hashable, Sendable {
    /// One member of an object.
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: JSONValue
    }

    /// The members in the order in which they were written.
    package private(set) var members: [Member]

    /// An object without members.
    package init() {
        members = []
    }

    /// An object of these members; where a name comes twice the later value stands in the earlier place.
    package init(_ pairs: some Sequence<(String, JSONValue)>) {
        members = []
        for (name, value) in pairs { self[name] = value }
    }

    /// An object of members whose names are known to be unique.
    init(uniqueMembers: [Member]) {
        members = uniqueMembers
    }

    /// The value of a member, `nil` when there is none; setting replaces in place or appends, setting `nil` removes.
    package subscript(name: String) -> JSONValue? {
        get {
            index(of: name).map { members[$0].value }
        }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): members[index].value = value
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (let index?, nil): members.remove(at: index)
            case (nil, nil): break
            }
        }
    }

    /// Most names differ in length, which is told far faster than a comparison of strings.
    private func index(of name: String) -> Int? {
        let length = name.utf8.count
        return members.firstIndex { $0.name.utf8.count == length && $0.name == name }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }
}
