# What sessions do with git all day: one below each `## name`, after the functions of `planted_for_git.sh`.

## git init
git init -q -b main new; git init -q build; cd new; echo 1 >a; git add a; git commit -qm one
## cargo new
mkdir -p new/src; echo 'fn main() {}' >new/src/main.rs; git init -q new; echo /target >new/.gitignore
## git submodule add
with_commit lib; git submodule --quiet add "file://$PWD/lib" sub; git submodule --quiet update --init
git commit -qm sub
## git rebase with conflicts
conflict; GIT_EDITOR=true git rebase --continue || GIT_EDITOR=true git rebase --skip
## a rebase that waits
conflict
## git worktree add
git worktree add -q tree; git -C tree commit -qm two --allow-empty
## a work tree of a bare repository
git clone -q --bare . free.git; git -C free.git worktree add -q ../tree main
## git clone
git clone -q . copy; git clone -q --bare . bare; git -C copy remote add more ../bare; git -C copy fetch -q more
## user and remotes
git init -q new; git -C new config user.name me; git -C new remote add origin https://example.org/y
## a plain alias and a switch
git init -q new; git -C new config alias.ci commit; git -C new config core.fsmonitor true
## git's own samples
git init -q new; chmod +x new/.git/hooks/*.sample
## branches
git checkout -qb side; git branch -q other; git tag v1; git stash -q; git gc -q
