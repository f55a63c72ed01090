//! Many short lists in two flat arrays.

/// Lists of items, numbered from 0, stored one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lists<T> {
    /// Where each list starts; one more entry than there are lists.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Lists { starts: vec![0], items: Vec::new() }
    }
}

impl<T: Copy> Lists<T> {
    /// No lists yet, with room for some.
    pub fn with_capacity(lists: usize, items: usize) -> Self {
        let mut starts = Vec::with_capacity(lists + 1);
        starts.push(0);
        Lists { starts, items: Vec::with_capacity(items) }
    }

    /// `count` lists from pairs of a list's number and an item. Items keep the order of the pairs;
    /// pairs whose number is not below `count` are left out.
    pub fn from_pairs(count: usize, pairs: &[(u32, T)]) -> Self {
        let mut starts = vec![0u32; count + 1];
        let Some(&(_, filler)) = pairs.first() else { return Lists { starts, items: Vec::new() } };
        let mut total = 0u32;
        for &(list, _) in pairs {
            if (list as usize) < count {
                starts[list as usize + 1] += 1;
                total += 1;
            }
        }
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        let mut items = vec![filler; total as usize];
        let mut next = starts.clone();
        for &(list, item) in pairs {
            if (list as usize) < count {
                let place = &mut next[list as usize];
                items[*place as usize] = item;
                *place += 1;
            }
        }
        Lists { starts, items }
    }

    /// Adds an item to the list that is being written.
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Ends the list that is being written; the next item begins another.
    pub fn end_list(&mut self) {
        self.starts.push(self.items.len() as u32);
    }

    /// The items of a list; empty when there is no such list.
    pub fn get(&self, list: u32) -> &[T] {
        let list = list as usize;
        match (self.starts.get(list), self.starts.get(list + 1)) {
            (Some(&start), Some(&end)) => self.items.get(start as usize..end as usize).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items of all lists, one list after the other.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// All lists, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> + '_ {
        (0..self.len() as u32).map(|list| self.get(list))
    }
}
